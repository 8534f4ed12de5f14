"""Writes experiments/sources.md: every row of the sources' tables next to our recorded value, by experiments/sources.toml."""

from __future__ import annotations

import fnmatch
import statistics
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Iterator

from config import EXPERIMENTS, ROOT, Experiment, UserError, any_of, read_toml
from intervals import half_width
from loading import load
from published import read_table
from records import fully_recorded
from results import Results, values
from verdicts import judge

SPEC, PAGE = EXPERIMENTS / "sources.toml", EXPERIMENTS / "sources.md"
STATUSES = ("reproduced", "not reproduced", "fitted", "baseline", "no value")

HEAD = """# The sources' tables, row by row

Written by `make sources` from `sources.toml`, the experiments' `published.csv` and their recorded values; a test checks that it is up to date. ± is the 95 %
confidence interval of the mean over the seeds; values without ± are the same for every seed.

* **reproduced**: an accuracy if the published value lies in the interval of ours (a wide interval makes that easy); a time if ours is off by
  at most the share that the table states.
* **fitted**: the row gave a constant of the model. **baseline**: 1 by definition.
* **no value**: we have none; the reason follows.

Sizes differ by orders of magnitude where accuracies are compared: they are stated with each table.
"""


@dataclass(frozen=True)
class Line:
    """One published value."""

    row: str
    quantity: str
    published: float
    ours: str
    status: str  # begins with one of STATUSES


class Column:
    """A [[table.column]] with the recorded values of the experiment that it is compared with."""

    def __init__(self, table: dict[str, Any], entry: dict[str, Any]) -> None:
        self.entry = entry
        self.experiment: Experiment = load(entry.get("experiment", table["experiment"]), entry.get("size", table["size"]))
        self.results: Results = fully_recorded(self.experiment)

    def line(self, row: dict[str, str]) -> Line:
        entry, name = self.entry, row["run"]
        published = float(row[entry["column"]])
        for pattern, why in entry.get("no_value", {}).items():
            if fnmatch.fnmatchcase(name, pattern):
                return Line(name, entry["text"], published, "", f"no value: {why}")
        run = entry.get("run", "{run}").format(**row)
        found = [value for runs in self.results.values() if run in runs for value in
                 values(runs, self.experiment.baselines, run, entry["metric"])]
        if not found:
            raise UserError(f"{PAGE.name}: {self.experiment.name} has no recorded run '{run}' for '{name}', {entry['text']}; "
                            "record it, or say in sources.toml why it cannot be had")
        found = [entry.get("scale", 1) * value for value in found]
        return Line(name, entry["text"], published, shown(found, published, entry["kind"]), self.status(run, name, found, published))

    def status(self, run: str, name: str, found: list[float], published: float) -> str:
        entry, mean = self.entry, statistics.fmean(found)
        if any_of(entry.get("fitted", []), name):
            return "fitted"
        if run == self.experiment.baselines[run] and mean == published == 1:
            return "baseline"
        allowed = half_width(found) if entry["kind"] == "accuracy" else entry["within"] * published
        return "reproduced" if abs(mean - published) <= allowed else "not reproduced"


def shown(found: list[float], published: float, kind: str) -> str:
    mean, half = statistics.fmean(found), half_width(found)
    if kind == "accuracy":
        return f"{mean:.3f} ± {half:.3f}" if half else f"{mean:.3f}"
    spread = f" ± {half:.3g}" if half > 1e-9 * mean else ""
    return f"{mean:.4g}{spread} ({100 * (mean / published - 1):+.1f} %)"


def lines_of(table: dict[str, Any]) -> Iterator[Line]:
    """In the order of the published rows."""
    columns = [Column(table, entry) for entry in table.get("column", [])]
    _, rows = read_table(EXPERIMENTS / table["experiment"] / "published.csv")
    for row in rows:
        if any_of(table.get("rows", ["*"]), row["run"]):
            yield from (column.line(row) for column in columns if row.get(column.entry["column"]))


def claims_of(table: dict[str, Any]) -> Iterator[list[str]]:
    experiment = load(table["experiment"], table["size"])
    for data, runs in fully_recorded(experiment).items():
        for claim in experiment.claims_of(data):
            if any_of(table.get("claims", []), claim["text"]):
                try:
                    found = judge(claim, runs, experiment.baselines)
                    yield [claim["text"], f"`{found.numbers}`", found.verdict]
                except UserError:
                    yield [claim["text"], "", f"no value: not recorded (`make verify-{experiment.name}` judges it)"]


def markdown(columns: list[str], rows: list[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in [columns, ["---"] * len(columns), *rows])


def section(table: dict[str, Any], lines: list[Line]) -> str:
    name = table["experiment"]
    within = {f"{100 * entry['within']:g} %" for entry in table.get("column", []) if entry["kind"] == "time"}
    parts = [f"## {table['title']}", f"* Published: {table['theirs']}.\n* Ours ([{name}]({name}/README.md)): {table['ours']}."
             + (f"\n* Times count as reproduced within {', '.join(sorted(within))}." if within else "")]
    if lines:
        parts.append(markdown(["row", "quantity", "published", "ours", "status"],
                              [[line.row, line.quantity, f"{line.published:.5g}", line.ours, line.status] for line in lines]))
    if claims := list(claims_of(table)):
        parts.append(markdown(["claim", "numbers", "verdict"], claims))
    return "\n\n".join(parts)


def page() -> str:
    tables = read_toml(SPEC)["table"]
    lines = [list(lines_of(table)) for table in tables]
    counts = [Counter(line.status.partition(":")[0] for line in of_table) for of_table in lines]
    overview = markdown(["table", *STATUSES], [[table["title"], *(str(count[status]) if count[status] else "" for status in STATUSES)]
                                               for table, count in zip(tables, counts) if count])
    return "\n\n".join([HEAD.rstrip(), overview, *(section(table, of_table) for table, of_table in zip(tables, lines))]) + "\n"


def write_page(path: Path = PAGE) -> None:
    path.write_text(page())
    print(f"wrote {path.relative_to(ROOT)}")
