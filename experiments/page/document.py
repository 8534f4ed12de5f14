"""The whole page: an overview of all experiments, then each of them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from markup import count, inline, kind, table
from sections import Page, section

HERE = Path(__file__).resolve().parent
WORDS = {"holds": "hold", "undecided": "undecided", "FAILS": "fail", "not run": "not run"}


def document(pages: list[Page]) -> str:
    contents = "\n".join(f'<li><a href="#{page.name}">{page.name}</a></li>' for page in pages)
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
<footer><p>Written by <code>make report</code> from the runs under <code>experiments/</code>.</p></footer>
</main>
<script>
{(HERE / "page.js").read_text()}</script>
</body>
</html>
"""


def head(pages: list[Page]) -> str:
    total = sum((page.statuses for page in pages), Counter())
    with_runs = sum(page.study.has_runs for page in pages)
    runs = ("All of them have runs here." if with_runs == len(pages) else
            f"{with_runs} of them have runs here; for the others, recorded values are shown." if with_runs else
            "There are no runs here (<code>make experiments SIZE=smoke</code> makes some): the values shown are recorded ones.")
    recorded = sum(verdict.recorded == "holds" for page in pages for verdict in page.verdicts)
    words = {"holds": "claims hold", "undecided": "are undecided", "FAILS": "fail",
             "not run": f"not run here, of which {recorded} hold according to recorded values"}
    totals = "\n".join(f'<li class="{kind(status)}"><b>{total[status]}</b> {word}</li>' for status, word in words.items())
    return f"""<header>
<h1>Experiments</h1>
<p class="lead">Distributed training of neural networks, with the cluster simulated on a laptop: {count(len(pages), "question")},
the runs that answer them, and published values next to our results. {runs}</p>
<ul class="totals" aria-label="Claims">{totals}</ul>
</header>
{overview(pages)}"""


def overview(pages: list[Page]) -> str:
    rows = ([f'<a href="#{page.name}">{page.name.replace("_", "_<wbr>")}</a><br>{inline(page.readme.summary)}',
             claims(page), error(page), inline(page.readme.source), inline(page.readme.came_out),
             page.study.size if page.study.has_runs else "no runs"] for page in pages)
    return table("Claims are judged by the runs found here; a claim is undecided if the mean over the seeds satisfies it, but not the whole 95 % "
                 "confidence interval of the mean. The error is the mean absolute error over published values that have a bound, "
                 "including fitted ones. The column result is taken from <code>experiments/README.md</code>, on the recorded runs.",
                 ["experiment", "claims", "error", "from", "result", "size"], rows, "overview")


def claims(page: Page) -> str:
    """The claims as a bar and as counts."""
    statuses = {status: page.statuses[status] for status in WORDS if page.statuses[status]}
    if not statuses:
        return '<span class="aside">none</span>'
    parts = "".join(f'<i class="{kind(status)}" style="flex:{number}"></i>' for status, number in statuses.items())
    words = " ".join(f'<span class="{kind(status)}">{number} {WORDS[status]}</span>' for status, number in statuses.items())
    return f'<span class="share" aria-hidden="true">{parts}</span><span class="counts">{words}</span>'


def error(page: Page) -> str:
    """The mean absolute error over the published values that have a bound and runs here."""
    errors = [abs(value) for beside in page.besides if beside.comparison and beside.comparison.judged and not beside.recorded
              for value in beside.comparison.errors.values()]
    return f"{100 * sum(errors) / len(errors):.1f} %" if errors else ""
