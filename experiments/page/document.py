"""The whole page: an overview of all experiments, then each of them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import readme
from markup import count, inline, kind, table, text
from sections import OUTCOMES, SMOKE, Page, evidence, section

HERE = Path(__file__).resolve().parent
WORDS = dict(reversed(OUTCOMES.items())) | {"not evidence": ("at size smoke only",) * 2, "not run": ("not run",) * 2}


def document(pages: list[Page]) -> str:
    contents = "\n".join(f'<li><a href="#{page.name}">{inline(page.readme.title)}</a></li>' for page in pages)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>Paragrad: experiments</title>
<style>
{(HERE / "page.css").read_text()}</style>
</head>
<body>
<nav aria-label="Contents">
<a class="top" href="#top">Paragrad</a>
<ul>
{contents}
</ul>
</nav>
<main id="top">
{head(pages)}
{chr(10).join(section(page) for page in pages)}
<footer><p>Written by <code>make report</code> from the runs and records under <code>experiments/</code>.</p></footer>
</main>
<script>
{(HERE / "page.js").read_text()}</script>
</body>
</html>
"""


def head(pages: list[Page]) -> str:
    total = sum((page.statuses for page in pages), Counter())
    words = {"holds": "claims hold", "undecided": "are undecided", "FAILS": "fail",
             "not evidence": "judged at size smoke only: not evidence", "not run": "not run"}
    totals = "\n".join(f'<li class="{kind(status)}"><b>{total[status]}</b> {word}</li>' for status, word in words.items())
    return f"""<header>
<h1>Experiments</h1>
<p class="lead">Distributed training of neural networks, with the cluster simulated on a laptop: {count(len(pages), "question")},
claims about the answers, and published values next to our results.</p>
<p>Every experiment has several sizes. <strong>full</strong> is the original's size, or the largest for one machine;
<strong>laptop</strong>, where there is one, is the original scaled down to a laptop; <strong>smoke</strong> takes seconds and only shows that
everything runs, so what it gives is not evidence. An outcome is that of the largest size with values: of runs found here, otherwise of
<code>expected.json</code>, in which the project records its own runs. {found_here(pages)}</p>
<ul class="totals" aria-label="Claims">{totals}</ul>
</header>
{overview(pages)}"""


def found_here(pages: list[Page]) -> str:
    with_runs, beyond = (sum(page.study.has_runs and page.study.size != unwanted for page in pages) for unwanted in ("", SMOKE))
    if not with_runs:
        return "There are no runs here; <code>make experiments SIZE=smoke</code> makes some."
    return f"Runs were found here for {with_runs} of {count(len(pages), 'experiment')}, for {beyond} of them of a size above smoke."


def overview(pages: list[Page]) -> str:
    rows = ([f'<a href="#{page.name}">{inline(page.readme.title)}</a><br><code>{page.name.replace("_", "_<wbr>")}</code>'
             f'<br>{inline(page.readme.summary)}',
             f'{claims(page)}<span class="evidence">{evidence(page)}</span>', error(page), inline(page.readme.came_out),
             inline(page.readme.source)] for page in pages)
    lost = "".join(f'<p class="missing">{text(sentence)}.</p>' for sentence in readme.lines_without_experiment())
    return table("A claim is undecided if the mean over the seeds satisfies it, but not the whole 95 % confidence interval of the mean. "
                 "The error is the mean absolute error over published values that have a bound, including fitted ones. "
                 "The result is that of <code>experiments/README.md</code>.",
                 ["experiment", "claims", "error", "result", "from"], rows, "overview") + lost


def claims(page: Page) -> str:
    """The claims as a bar and as counts."""
    statuses = {status: page.statuses[status] for status in WORDS if page.statuses[status]}
    if not statuses:
        return '<span class="aside">none</span>'
    parts = "".join(f'<i class="{kind(status)}" style="flex:{number}"></i>' for status, number in statuses.items())
    words = " ".join(f'<span class="{kind(status)}">{count(number, *WORDS[status])}</span>' for status, number in statuses.items())
    return f'<span class="share" aria-hidden="true">{parts}</span><span class="counts">{words}</span>'


def error(page: Page) -> str:
    """The mean absolute error over the published values that have a bound and values of ours that are evidence."""
    errors = [abs(value) for beside in page.besides if beside.comparison and beside.comparison.judged and beside.size != SMOKE
              for value in beside.comparison.errors.values()]
    return f"{100 * sum(errors) / len(errors):.1f} %" if errors else ""
