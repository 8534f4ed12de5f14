"""An experiment's section: question, claims, published values next to ours, figures and their origin, tables."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Iterator

import paragrad_runs
import readme
from charts import Looks
from config import ROOT, UserError, any_of, is_judged, when_stated
from figures import Figure, figures_of
from markup import badge, count, folded, inline, table, text
from paragrad.drawing import prefixed
from paragrad.runs import MACHINE
from paragrad_runs import Beside, Study, Verdict

LONG = 12  # tables with more rows are folded
SMOKE = "smoke"  # the size that only shows that everything runs
OUTCOMES = {"FAILS": ("fails", "fail"), "undecided": ("undecided", "undecided"), "holds": ("holds", "hold")}  # of one, of many


@dataclass
class Page:
    """The data of one experiment's section."""

    name: str
    readme: readme.Readme
    evidence: Study  # of the largest size with runs or records
    study: Study     # of the largest size with runs, otherwise `evidence`
    verdicts: list[Verdict]
    besides: list[Beside]
    looks: Looks = field(default_factory=Looks)

    @property
    def statuses(self) -> Counter[str]:
        """Counts what claims and judged published values count as."""
        judged = [counts_as(beside.comparison.verdict if beside.comparison else "not run", beside.size)
                  for beside in self.besides if is_judged(beside.entry)]
        return Counter([counts_as(verdict.outcome, verdict.size) for verdict in self.verdicts] + judged)


def counts_as(outcome: str, size: str) -> str:
    return "not evidence" if size == SMOKE and outcome != "not run" else outcome


def page_of(name: str) -> Page:
    largest_first = paragrad_runs.studies(name)
    if not largest_first:
        raise UserError(f"experiments/{name}/config.toml has no [size.smoke], [size.laptop] or [size.full]")
    evidence = max(largest_first, key=lambda study: study.has_runs or bool(study.recorded))  # the first of these
    return Page(name, readme.read(name), evidence, next((study for study in largest_first if study.has_runs), evidence),
                paragrad_runs.verdicts(name), paragrad_runs.beside(name))


def section(page: Page) -> str:
    return "\n".join([f'<section id="{page.name}" aria-labelledby="{page.name}-title">',
                      f'<h2 id="{page.name}-title">{inline(page.readme.title)}</h2>',
                      f'<p class="name"><code>experiments/{page.name}</code> · {standing(page)}</p>',
                      *(f'<p class="missing">{text(sentence)}.</p>' for sentence in page.readme.missing),
                      *described(page), *claims(page), *published(page), *figures(page), *came_out(page), *repetition(page), *again(page),
                      "</section>"])


def described(page: Page) -> Iterator[str]:
    if page.readme.question:
        yield f'<p class="question">{inline(page.readme.question)}</p>'
    if page.readme.came_out:
        yield f"<p><strong>Result:</strong> {inline(page.readme.came_out)}.</p>"


def of_size(size: str, source: str) -> str:
    """A size and where its values are from, marked if it is no evidence."""
    return f"{size}, {source}" + (f' {badge("not evidence")}' if size == SMOKE else "")


def evidence(page: Page) -> str:
    """The size of the values that count, and where they are from."""
    found = page.evidence
    run, of_all = len(found.experiment.runs), len(found.whole.runs)
    if not run and not found.recorded:
        return badge("not run", "neither run here nor recorded")
    partly = f"{run} of {of_all} run here" + (", others recorded" if found.recorded else "")
    return of_size(found.size, "run here" if run == of_all else partly if run else "recorded")


def standing(page: Page) -> str:
    study, known = page.study, f"Size of the values: {evidence(page)}."
    if not study.has_runs:
        return known + " There are no runs here."
    seeds = f"{'seeds' if len(study.experiment.seeds) > 1 else 'seed'} {', '.join(map(str, study.experiment.seeds))}"
    runs = f"{count(len(study.experiment.runs), 'run')} of {len(study.whole.runs)}"
    return f"{known} Runs here: size {study.size}, {runs}, {seeds}."


def claims(page: Page) -> Iterator[str]:
    if not page.verdicts:
        return
    yield "<h3>Claims</h3>"
    by_outcome = sorted(page.verdicts, key=lambda verdict: [*OUTCOMES, "not run"].index(verdict.outcome))
    counted, smoke, waiting = ([verdict for verdict in by_outcome if pick(counts_as(verdict.outcome, verdict.size))]
                               for pick in (OUTCOMES.__contains__, "not evidence".__eq__, "not run".__eq__))
    holding = [verdict for verdict in counted if verdict.outcome == "holds"]
    if len(holding) > LONG:
        counted = [verdict for verdict in counted if verdict not in holding]
    if counted:
        yield claims_table(counted)
    if len(holding) > LONG:
        yield folded(badge("holds", f"{len(holding)} claims hold"), claims_table(holding))
    if smoke:
        known = Counter(verdict.outcome for verdict in smoke)
        words = ", ".join(count(known[outcome], *words) for outcome, words in OUTCOMES.items() if known[outcome])
        yield folded(f"{badge('not evidence')} {count(len(smoke), 'claim')} judged at size smoke only: {words}", claims_table(smoke),
                     is_open="FAILS" in known)
    if waiting:
        yield folded(f"{badge('not run')} {count(len(waiting), 'claim')} without values, neither run here nor recorded with these options", claims_table(waiting))


def claims_table(verdicts: list[Verdict]) -> str:
    return table("", ("outcome", "claim", "size", "data"), map(claim_row, verdicts), "claims")


def claim_row(verdict: Verdict) -> list[str]:
    numbers = text(without_exponents(verdict.numbers).replace(">=", "≥").replace("<=", "≤"))
    claim = text(verdict.claim["text"]) + aside(verdict.claim) + (f"<br><code>{numbers}</code>" if numbers else "")
    source = "recorded" if verdict.recorded else "run here" if verdict.outcome != "not run" else "not run"
    return [badge(verdict.outcome), claim, of_size(verdict.size, source).replace(", ", "<br>", 1), text(verdict.data)]


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
                     ([text(run), f"{value:,g}", "not run"] for run, value in beside.published.items()
                      if any_of(beside.entry.get("rows", ["*"]), run)))
        return folded(f"{badge('not run')} {title} ({column})", body)
    body = table("", ["run", "published", "recorded" if beside.recorded else "ours", "error"],
                 ([text(run), f"{found.published[run]:,g}", number(found.predicted[run]), error_cell(error)]
                  for run, error in found.errors.items()), "published")
    mean = f"mean absolute error {100 * found.mean_error:.1f} % over {count(len(found.errors), 'value')} ({column})"
    source = of_size(beside.size, "recorded" if beside.recorded else "run here")
    return folded(f'{badge(found.verdict, "not judged" if found.verdict == "shown" else "")} {title}: {mean} <span class="aside">size {source}</span>', body, is_open=len(found.errors) <= LONG)


def error_cell(error: float) -> str:
    """The error with a bar: 50 % fills the half on the side of its sign."""
    side, width = "left" if error >= 0 else "right", 100 * min(abs(error), 0.5)
    shown = f"{100 * error:+.1f}".replace("+0.0", "0.0").replace("-0.0", "0.0")
    return (f'<span class="error">{shown} %</span>'
            f'<span class="bar" aria-hidden="true"><i style="{side}:50%;width:{width:.1f}%"></i></span>')


def shown(page: Page) -> Iterator[Study]:
    """The records of the size that counts, unless all of it was run here; then the runs here."""
    if page.evidence.recorded and len(page.evidence.experiment.runs) < len(page.evidence.whole.runs):
        yield page.evidence.by_records()
    if page.study.has_runs:
        yield page.study


def figures(page: Page) -> Iterator[str]:
    seen: set[tuple[str, str]] = set()
    for study in shown(page):
        drawn = [(figure, figure.svg()) for figure in figures_of(study, page.looks) if (study.size, figure.title) not in seen]
        seen |= {(study.size, figure.title) for figure, _ in drawn}
        if not drawn:
            continue
        yield f'<h3>Figures: {heading(study)}</h3>\n<div class="figures">'
        for figure, svg in drawn:
            caption = f"<strong>{inline(figure.title)}</strong>{': ' + inline(figure.caption) if figure.caption else ''}"
            origins = folded("Runs and origin", behind(page, study, figure))
            yield f"<figure>\n{svg}\n<figcaption>{caption}\n{origins}</figcaption>\n</figure>"
        yield "</div>"


def heading(study: Study) -> str:
    return f'size {of_size(study.size, "recorded" if study.is_by_records else "run here")}'


def behind(page: Page, study: Study, figure: Figure) -> str:
    """The origin of a figure's values, each fact once: by the runs' manifests, or the machines on which they were recorded."""
    facts: dict[str, dict[str, None]] = {}
    if study.is_by_records:
        recorded = [seed for runs in study.results.values() for name in figure.runs for seed in runs[name].values()]
        found = [("machine", seed[MACHINE]) for seed in recorded if MACHINE in seed]
        source, verb = f"<code>experiments/{page.name}/expected.json</code>", "verify"
    else:
        runs = [run for name in figure.runs for seeds in study.runs(name).values() for run in seeds]
        found = [fact for run in runs for fact in origin(run.manifest)]
        source = (f"<code>{text(runs[0].folder.relative_to(ROOT))}/manifest.json</code>"
                  f"{' and those of the others' if len(runs) > 1 else ''}")
        verb = "run"
    for fact, value in found:
        facts.setdefault(fact, {})[value] = None
    lines = [("runs", ", ".join(f"<code>{text(name)}</code>" for name in figure.runs)),
             *((fact, "; ".join(map(text, values))) for fact, values in facts.items()),
             ("values", source), ("again", f"<code>make {verb}-{page.name} SIZE={study.size}</code>")]
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
    for study in shown(page):
        tables = ([(f"means over {count(len(study.whole.seeds), 'seed')}", recorded_lines(study), "")] if study.is_by_records else
                  [(found.title if found.of_training else found.title.split(": ", 1)[1], found.lines, found.note)
                   for found in study.tables()])
        yield f"<h3>Results: {heading(study)}</h3>"
        for title, lines, note in tables:
            used = [place for place, name in enumerate(lines[0]) if name]  # the column is empty if no option was tuned
            head, *rows = ([text(without_exponents(line[place].strip())) for place in used] for line in lines)
            body = table("", head, rows) + (f'<p class="source">{text(note)}</p>' if note else "")
            yield folded(inline(title or "all runs"), body, is_open=len(lines) <= LONG and len(tables) == 1)


def recorded_lines(study: Study) -> list[list[str]]:
    rows = study.recorded_rows()
    columns = [key for key in dict.fromkeys(key for row in rows for key in row) if key != "data" or len(study.recorded) > 1]
    return [columns] + [[cell(name, row.get(name, "-")) for name in columns] for row in rows]


def without_exponents(line: str) -> str:
    """The text with 2.75e+03 as 2,750."""
    return re.sub(r"\b\d(\.\d+)?e\+\d+\b", lambda found: f"{float(found[0]):,.0f}", line)


def cell(metric: str, value: Any) -> str:
    if not isinstance(value, float):
        return str(value)
    if metric.endswith("error"):
        return f"{100 * value:.2f} %"
    return prefixed(value, "B") if metric.endswith("_bytes") else number(value)


def number(value: float) -> str:
    """Four digits, or all of a whole number."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


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
