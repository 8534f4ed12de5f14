"""An experiment's section: question, claims, published values next to ours, figures and their origin, tables."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, Iterator

import paragrad_runs
import readme
from config import ROOT, any_of, when_stated
from figures import Figure, figures_of
from markup import badge, count, folded, inline, table, text
from paragrad_runs import Beside, Study, Verdict

LONG = 12  # tables with more rows are folded


@dataclass
class Page:
    """The data of one experiment's section."""

    name: str
    readme: readme.Readme
    study: Study  # of the largest size with runs, otherwise the largest that is recorded
    verdicts: list[Verdict]
    besides: list[Beside]

    @property
    def statuses(self) -> Counter[str]:
        """Counts the statuses of claims and of judged published values."""
        judged = [beside.comparison.verdict if beside.comparison and not beside.recorded else "not run"
                  for beside in self.besides if {"within", "mean_within"} & beside.entry.keys()]
        return Counter([verdict.status for verdict in self.verdicts] + judged)


def page_of(name: str) -> Page:
    largest_first = paragrad_runs.studies(name)
    best = max(largest_first, key=lambda study: (study.has_runs, bool(study.recorded)))  # the first of the best
    return Page(name, readme.read(name), best, paragrad_runs.verdicts(name), paragrad_runs.beside(name))


def section(page: Page) -> str:
    return "\n".join([f'<section id="{page.name}" aria-labelledby="{page.name}-title">',
                      f'<h2 id="{page.name}-title">{inline(page.readme.title)}</h2>',
                      f'<p class="name"><code>experiments/{page.name}</code> {standing(page)}</p>',
                      f'<p class="question">{inline(page.readme.question)}</p>',
                      *claims(page), *published(page), *figures(page), *came_out(page), *repetition(page), *again(page), "</section>"])


def standing(page: Page) -> str:
    study = page.study
    if not study.has_runs:
        return badge("not run", "there are no runs here") + " The values shown are recorded in <code>expected.json</code>."
    missing = len(study.whole.runs) - len(study.experiment.runs)
    seeds = ", ".join(map(str, study.experiment.seeds))
    return (f"size {study.size}: {count(len(study.experiment.runs), 'run')}"
            f"{f' of {len(study.whole.runs)}' if missing else ''}, {'seeds' if ',' in seeds else 'seed'} {seeds}")


def claims(page: Page) -> Iterator[str]:
    if not page.verdicts:
        return
    yield "<h3>Claims</h3>"
    failing, undecided, holding, waiting = ([verdict for verdict in page.verdicts if verdict.status == status]
                                            for status in ("FAILS", "undecided", "holds", "not run"))
    if failing or undecided:
        yield claims_table(failing + undecided)
    if holding:
        shown = claims_table(holding)
        yield shown if len(holding) <= LONG else folded(badge("holds", f"{len(holding)} claims hold"), shown)
    if waiting:
        yield folded(f"{count(len(waiting), 'claim')} not run here{by_record(waiting)}", claims_table(waiting))


def by_record(waiting: list[Verdict]) -> str:
    known = Counter(verdict.recorded for verdict in waiting)
    words = [f"{known[status]} {word}" for status, word in (("holds", "hold"), ("undecided", "are undecided"), ("FAILS", "fail")) if known[status]]
    return f"; by recorded values (<code>expected.json</code>) {', '.join(words)}" if words else ""


def claims_table(verdicts: list[Verdict]) -> str:
    return table("", ("verdict", "claim", "size", "data"), map(claim_row, verdicts), "claims")


def claim_row(verdict: Verdict) -> list[str]:
    mark = badge(verdict.status) + (f'<br><span class="aside">recorded: {verdict.recorded}</span>' if verdict.recorded else "")
    numbers = text(verdict.numbers.replace(">=", "≥").replace("<=", "≤"))
    claim = text(verdict.claim["text"]) + aside(verdict.claim) + (f"<br><code>{numbers}</code>" if numbers else "")
    return [mark, claim, verdict.size, text(verdict.data)]


def aside(entry: dict[str, Any]) -> str:
    remark = when_stated(entry)
    return f'<span class="aside">{remark}</span>' if remark else ""


def published(page: Page) -> Iterator[str]:
    remarks, rows = paragrad_runs.published_table(page.name)
    if not rows:
        return
    yield "<h3>Published values and ours</h3>"
    if not page.besides:
        columns = list(rows[0])
        yield "<p>No run of ours predicts these values; they are shown for comparison.</p>"
        yield table("", map(text, columns), ([text(row[column] or "") for column in columns] for row in rows))
    for beside in page.besides:
        yield comparison(beside)
    if remarks:
        yield f'<p class="source">Source: {inline(remarks)}</p>'


def comparison(beside: Beside) -> str:
    found = beside.comparison
    title, column = inline(beside.entry["text"]) + aside(beside.entry), f'<code>{text(beside.entry["column"])}</code>'
    if found is None:
        body = table("", ["run", "published", "ours"],
                     ([text(run), f"{value:.5g}", "not run"] for run, value in beside.published.items()
                      if any_of(beside.entry.get("rows", ["*"]), run)))
        return folded(f"{badge('not run')} {title} ({column})", body)
    body = table("", ["run", "published", "recorded" if beside.recorded else "ours", "error"],
                 ([text(run), f"{found.published[run]:.5g}", f"{found.predicted[run]:.5g}", error_cell(error)]
                  for run, error in found.errors.items()), "published")
    mean = f"mean absolute error {100 * found.mean_error:.1f} % over {count(len(found.errors), 'value')} ({column})"
    status = f"{badge('not run')} (recorded: {found.verdict})" if beside.recorded else badge(found.verdict)
    return folded(f"{status} {title}: {mean}", body, is_open=len(found.errors) <= LONG and not beside.recorded)


def error_cell(error: float) -> str:
    """The error with a bar: 50 % fills the half on the side of its sign."""
    side, width = "left" if error >= 0 else "right", 100 * min(abs(error), 0.5)
    return (f'<span class="error">{100 * error:+.1f} %</span>'
            f'<span class="bar" aria-hidden="true"><i style="{side}:50%;width:{width:.1f}%"></i></span>')


def figures(page: Page) -> Iterator[str]:
    drawn = list(figures_of(page.study)) if page.study.has_runs else []
    if not drawn:
        return
    yield '<h3>Figures</h3>\n<div class="figures">'
    for figure in drawn:
        caption = f"<strong>{inline(figure.title)}</strong>{': ' + inline(figure.caption) if figure.caption else ''}"
        origins = folded("Runs and origin", behind(page, figure))
        yield f"<figure>\n{figure.svg}\n<figcaption>{caption}\n{origins}</figcaption>\n</figure>"
    yield "</div>"


def behind(page: Page, figure: Figure) -> str:
    """The origin of a figure's runs by their manifests, each value once."""
    runs = [run for name in figure.runs for seeds in page.study.runs(name).values() for run in seeds]
    facts: dict[str, dict[str, None]] = {}
    for run in runs:
        for fact, value in origin(run.manifest):
            facts.setdefault(fact, {})[value] = None
    lines = [("runs", ", ".join(f"<code>{text(name)}</code>" for name in figure.runs)),
             *((fact, "; ".join(map(text, values))) for fact, values in facts.items()),
             ("manifest", f"<code>{text(runs[0].folder.relative_to(ROOT))}/manifest.json</code>"
                          f"{' and those of the others' if len(runs) > 1 else ''}"),
             ("again", f"<code>make run-{page.name} SIZE={page.study.size}</code>")]
    return "<dl>" + "".join(f"<dt>{fact}</dt><dd>{value}</dd>" for fact, value in lines) + "</dl>"


def origin(manifest: dict[str, Any]) -> Iterator[tuple[str, str]]:
    program, host, platform = manifest["program"], manifest["host"], manifest["platform"]
    changes = ", with changes" if program["dirty_sha256"] else ""
    yield "program", f"commit {program['commit'][:12]}{changes}, {program['compiler']}, {program['blas'].split(' NO_')[0]}"
    yield "host", f"{host['processor']}, {count(host['cores'], 'core')}"
    yield "platform", f"{platform.get('name') or platform['file']} (sha256 {platform['file_sha256'][:12]})"
    if data := manifest.get("data"):
        yield "data", f"{data['name']} (sha256 {data['content_sha256'][:12]})" if data.get("content_sha256") else data["name"]


def came_out(page: Page) -> Iterator[str]:
    study = page.study
    shown = [(found.title if found.of_training else found.title.split(": ", 1)[1], found.lines, found.note) for found in study.tables()]
    if not study.has_runs and study.recorded:
        shown = [(f"size {study.size}, means over the seeds", recorded_lines(study), "")]
    if not shown:
        return
    yield f"<h3>{'Results' if study.has_runs else 'Recorded results'}</h3>"
    for title, lines, note in shown:
        used = [place for place, name in enumerate(lines[0]) if name]  # the column is empty if no option was tuned
        head, *rows = ([text(line[place].strip()) for place in used] for line in lines)
        body = table("", head, rows) + (f'<p class="source">{text(note)}</p>' if note else "")
        yield folded(inline(title or "all runs"), body, is_open=len(lines) <= LONG and len(shown) == 1)


def recorded_lines(study: Study) -> list[list[str]]:
    rows = study.recorded_rows()
    columns = list(dict.fromkeys(key for row in rows for key in row))

    def cell(value: Any) -> str:
        return f"{value:.5g}" if isinstance(value, float) else str(value)

    return [columns] + [[cell(row.get(name, "")) for name in columns] for row in rows]


def repetition(page: Page) -> Iterator[str]:
    found = page.study.repetitions()
    if not found:
        return
    yield "<h3>Do recorded values repeat?</h3>"
    for each in found:
        line = f"{badge('FAILS' if each.wrong else 'holds')} {text(each.summary)}"
        wrong = "\n".join(map(text, each.wrong))
        yield folded(line, f"<pre>{wrong}</pre>") if wrong else f"<p>{line}</p>"


def again(page: Page) -> Iterator[str]:
    yield f"<h3>Run it again</h3>\n<pre><code>{text(page.readme.commands)}</code></pre>"
