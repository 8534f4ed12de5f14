"""Writes experiments/sources.md: every row of the sources' tables, and their statements with numbers, next to our recorded value, by
experiments/sources.toml."""

from __future__ import annotations

import fnmatch
import statistics
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Iterator

from config import EXPERIMENTS, ROOT, Experiment, UserError, any_of, read_toml
from intervals import half_width
from judging import joined, verdicts_of
from loading import load
from published import read_table
from records import State, fully_recorded, recorded_runs, why_unused
from results import Results, values

SPEC, PAGE = EXPERIMENTS / "sources.toml", EXPERIMENTS / "sources.md"
STATUSES = ("reproduced", "undecided", "not reproduced", "not comparable", "fitted", "baseline", "open", "no value")

HEAD = """# The sources' tables and statements, row by row

Written by `make sources` from `sources.toml`, the experiments' `published.csv` and their recorded values; a test checks that it is up to date.
It has the tables of the five sources that this project implements, and their statements with numbers; figures of other publications stand on the pages of the
experiments that use them. ± is the 95 % confidence interval of the mean over the seeds; values without ± are the same for every seed.

* **reproduced**: the whole interval of ours lies within the margin that the table states, in the same metric. **not reproduced**: none of it does.
  **undecided**: a part of it does.
* **not comparable**: ours is another metric or another task; the reason follows.
* **fitted**: the row gave a constant of the model. **baseline**: 1 by definition.
* **open**: not recorded with the options that the experiment has now. **no value**: we have none. The reasons follow.

Sizes differ by orders of magnitude where accuracies are compared: they are stated with each table.
"""


@dataclass(frozen=True)
class Line:
    """One published value."""

    row: str
    quantity: str
    published: str
    ours: str
    status: str  # begins with one of STATUSES


class Column:
    """A [[table.column]] or a [[statement]], with the recorded values of the experiment that it is compared with."""

    def __init__(self, entry: dict[str, Any], experiment: str, size: str) -> None:
        self.entry = entry
        self.experiment: Experiment = load(experiment, size)
        self.results: Results = fully_recorded(self.experiment)
        self.unused = why_unused(self.experiment)

    def line(self, row: dict[str, str]) -> Line:
        entry, name = self.entry, row["run"]
        published = float(row[entry["column"]])
        for pattern, why in entry.get("no_value", {}).items():
            if fnmatch.fnmatchcase(name, pattern):
                return Line(name, entry["text"], f"{published:.5g}", "", f"no value: {why}")
        return self.compared(name, entry["text"], entry.get("run", "{run}").format(**row), published)

    def compared(self, name: str, text: str, run: str, published: float, unit: str = "") -> Line:
        try:
            found = self.values_of(run)
        except UserError as error:
            return Line(name, text, f"{published:.5g}{unit}", "", f"open: {error}")
        return Line(name, text, f"{published:.5g}{unit}", shown(found, published, self.entry, unit), self.status(run, name, found, published))

    def values_of(self, run: str) -> list[float]:
        """Of every seed: the metric, times `scale`; or `numerator` divided by it; or the run `over` divided by it, or how much less it is, in %."""
        entry, other = self.entry, self.entry.get("over", run)
        known = [data for data, runs in self.results.items() if {run, other} <= runs.keys()]
        if not known:
            reasons = dict.fromkeys(why for (_, name), why in self.unused.items() if name in (run, other))
            raise UserError(joined(list(reasons)) or f"{State.MISSING.value}: {run}")
        try:
            ours, others = ([value for data in known for value in values(self.results[data], self.experiment.baselines, name, entry["metric"])]
                            for name in (run, other))
        except UserError as error:
            raise UserError(f"{entry['metric']} of {run} is not recorded") from error
        if "numerator" in entry:
            return [entry["numerator"] / value for value in ours]
        if "over" in entry:
            return [100 * (1 - mine / its) if entry["form"] == "reduction" else its / mine for mine, its in zip(ours, others)]
        return [entry.get("scale", 1) * value for value in ours]

    def status(self, run: str, name: str, found: list[float], published: float) -> str:
        """The interval of ours may not leave the margin around the published value."""
        entry, mean = self.entry, statistics.fmean(found)
        if any_of(entry.get("fitted", []), name):
            return "fitted"
        if run == self.experiment.baselines[run] and mean == published == 1:
            return "baseline"
        if "unlike" in entry:
            return f"not comparable: {entry['unlike']}"
        half, margin = half_width(found), entry["within"] * abs(published)
        if abs(mean - published) + half <= margin:
            return "reproduced"
        return "not reproduced" if abs(mean - published) - half > margin else "undecided"


def shown(found: list[float], published: float, entry: dict[str, Any], unit: str) -> str:
    mean, half = statistics.fmean(found), half_width(found)
    digits = ".3f" if entry["kind"] == "accuracy" else ".4g"
    spread = f" ± {half:{'.3f' if entry['kind'] == 'accuracy' else '.3g'}}" if half > 1e-9 * abs(mean) else ""
    error = f" ({100 * (mean / published - 1):+.1f} %)" if entry["kind"] == "time" and not unit.startswith(" %") else ""
    return f"{mean:{digits}}{spread}{unit}{error}"


def lines_of(table: dict[str, Any]) -> Iterator[Line]:
    """In the order of the published rows."""
    columns = [Column(entry, entry.get("experiment", table["experiment"]), entry.get("size", table["size"])) for entry in table.get("column", [])]
    _, rows = read_table(EXPERIMENTS / table["experiment"] / "published.csv")
    for row in rows:
        if any_of(table.get("rows", ["*"]), row["run"]):
            yield from (column.line(row) for column in columns if row.get(column.entry["column"]))


def statement_line(entry: dict[str, Any]) -> Line:
    unit = f" {entry['unit']}" if entry.get("unit") else ""
    if "no_value" in entry:
        return Line(entry["source"], entry["text"], f"{entry['published']:.5g}{unit}", "", f"no value: {entry['no_value']}")
    name = entry["experiment"]
    line = Column(entry, name, entry["size"]).compared(entry["source"], entry["text"], entry["run"], entry["published"], unit)
    return replace(line, ours=f"{line.ours}{', ' if line.ours else ''}{entry['ours']} ([{name}]({name}/README.md))")


def claims_of(table: dict[str, Any]) -> Iterator[list[str]]:
    for one in verdicts_of(load(table["experiment"], table["size"])):
        if one.data and any_of(table.get("claims", []), one.entry["text"]):
            yield [one.entry["text"], f"`{one.numbers}`", one.verdict]


def markdown(columns: list[str], rows: list[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in [columns, ["---"] * len(columns), *rows])


def section(table: dict[str, Any], lines: list[Line]) -> str:
    name = table["experiment"]
    within = {f"{100 * entry['within']:g} %" for entry in table.get("column", []) if "within" in entry}
    parts = [f"## {table['title']}", f"* Published: {table['theirs']}.\n* Ours ([{name}]({name}/README.md)): {table['ours']}."
             + (f"\n* Margin: {', '.join(sorted(within))} of the published value." if within else "") + unnamed(table)]
    if lines:
        parts.append(markdown(["row", "quantity", "published", "ours", "status"],
                              [[line.row, line.quantity, line.published, line.ours, line.status] for line in lines]))
    if claims := list(claims_of(table)):
        parts.append(markdown(["claim", "numbers", "verdict"], claims))
    return "\n\n".join(parts)


def unnamed(table: dict[str, Any]) -> str:
    """A remark on records of which it is not known whether they were made with the options that the experiment has now."""
    used = {table["experiment"]: table["size"]} | {entry["experiment"]: entry["size"] for entry in table.get("column", []) if "experiment" in entry}
    found = [name for name, size in used.items() if any(run.state is State.UNNAMED for run in recorded_runs(load(name, size)))]
    return f"\n* Recorded without their options by an early version, so perhaps with others: runs of {' and '.join(found)}." if found else ""


def statements(entries: list[dict[str, Any]], lines: list[Line]) -> str:
    within = sorted({f"{100 * entry['within']:g} %" for entry in entries if "within" in entry})
    return "\n\n".join(["## Statements in the sources' texts", f"* Margin: {', '.join(within)} of the published value.",
                        markdown(["source", "statement", "published", "ours", "status"],
                                 [[line.row, line.quantity, line.published, line.ours, line.status] for line in lines])])


def page() -> str:
    spec = read_toml(SPEC)
    tables, stated = spec["table"], spec.get("statement", [])
    lines, of_statements = [list(lines_of(table)) for table in tables], [statement_line(entry) for entry in stated]
    counts = [(title, Counter(line.status.partition(":")[0] for line in found))
              for title, found in [*zip([table["title"] for table in tables], lines), ("Statements in the sources' texts", of_statements)]]
    used = [status for status in STATUSES if any(count[status] for _, count in counts)]
    overview = markdown(["table", *used], [[title, *(str(count[status]) if count[status] else "" for status in used)]
                                           for title, count in counts if count])
    sections = [section(table, of_table) for table, of_table in zip(tables, lines)]
    return "\n\n".join([HEAD.rstrip(), overview, *sections, *([statements(stated, of_statements)] if stated else [])]) + "\n"


def write_page(path: Path = PAGE) -> None:
    if SPEC.exists():
        path.write_text(page())
        print(f"wrote {path.relative_to(ROOT)}")
