"""What the experiments' pages say that follows from records and configurations: the line on the claims, which is written here, pasted
verdicts, and counts of runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Iterator

from config import EXPERIMENTS, ROOT, Experiment, names
from judging import OUTCOMES, Verdict, counted, counts_of, verdicts_of
from loading import all_sizes, load
from records import State, recorded_runs
from tuning import tuned_runs

STATUS = re.compile(r"^\*\*Claims\.\*\* .*$", re.MULTILINE)
TITLE = re.compile(r"\A# .+\n")
ROW = re.compile(r"^(\| \[(\w+)\]\(\w+/README\.md\)(?: \| [^|]*){3}) \|.*$", re.MULTILINE)
PASTED = re.compile(r"^ *(holds|undecided|FAILS|open|shown) +(.+)$", re.MULTILINE)
RUNS = re.compile(r"make (verify|run|record|tune)-(\w+)`?(?: +SIZE=(\w+))? +[#(] ?(?:\w+: )?([\d,]+) runs")


def page_of(name: str) -> Path:
    return EXPERIMENTS / name / "README.md"


def status_line(experiment: Experiment) -> str:
    """Of the size for one machine."""
    runs = list(recorded_runs(experiment))
    unnamed = sum(run.state is State.UNNAMED for run in runs)
    remark = f" {unnamed} of its {len(runs)} runs were recorded without their options." if unnamed else ""
    return f"**Claims.** {counted(verdicts_of(experiment))} (`make judge-{experiment.name}`, size {experiment.size}.){remark}"


def with_status(name: str) -> str:
    """The page with its line on the claims below the title."""
    text, line = page_of(name).read_text(), status_line(load(name, ""))
    if STATUS.search(text):
        return STATUS.sub(lambda _: line, text, count=1)
    return TITLE.sub(lambda found: f"{found[0]}\n{line}\n", text, count=1)


def overview() -> str:
    """The page of all experiments with their claims in the last column."""
    def row(found: re.Match[str]) -> str:
        return f"{found[1]} | {in_short(verdicts_of(load(found[2], '')))} |"

    return ROW.sub(row, (EXPERIMENTS / "README.md").read_text())


def in_short(verdicts: list[Verdict]) -> str:
    counts = counts_of(verdicts)
    return ", ".join(f"{counts[outcome]} {words[counts[outcome] > 1].removeprefix('is ').removeprefix('are ')}"
                     for outcome, words in OUTCOMES.items() if counts[outcome]) or "none"


def pages() -> Iterator[tuple[Path, str]]:
    """Each page, and its text by the records."""
    yield EXPERIMENTS / "README.md", overview()
    for name in names():
        if page_of(name).exists():
            yield page_of(name), with_status(name)


def write_pages() -> None:
    for path, text in pages():
        if path.read_text() != text:
            path.write_text(text)
            print(f"wrote {path.relative_to(ROOT)}")


def mistakes() -> Iterator[str]:
    """A sentence for each line that is not what records and configurations say."""
    for path, text in pages():
        if path.read_text() != text:
            yield f"{path.relative_to(ROOT)}: the line on its claims is not what the records say: make sources"
        yield from wrong_counts(path, text)
    for name in names():
        yield from wrong_verdicts(name)


def wrong_verdicts(name: str) -> Iterator[str]:
    """Pasted verdicts that are not those of the records."""
    text = page_of(name).read_text() if page_of(name).exists() else ""
    if not (pasted := PASTED.findall(text)):
        return
    known = [(one.entry["text"], one.verdict) for one in verdicts_of(load(name, ""))]
    for verdict, line in pasted:
        about = [(claim, true) for claim, true in known if claim in line or shortened(line).match(claim)]
        if not about:
            yield f"experiments/{name}/README.md has a verdict on no claim: {verdict}  {line}"
        elif verdict not in [true for _, true in about]:
            yield f"experiments/{name}/README.md says '{verdict}', but the records say '{about[0][1]}': {line}"


def shortened(line: str) -> re.Pattern[str]:
    """For the texts of which a pasted line has the beginning; "…" stands for words that are left out."""
    words = re.split(r": (?:mean absolute error|within)\b", line)[0]
    return re.compile(".*".join(map(re.escape, words.split("…"))))


def wrong_counts(path: Path, text: str) -> Iterator[str]:
    """Commands whose comment has another number of runs than config.toml."""
    for command, name, size, number in RUNS.findall(text):
        if name in names() and (not size or size in all_sizes(name)):
            experiment = load(name, size)
            count = tuned_runs(experiment) if command == "tune" else count_of(experiment)
            if count != int(number.replace(",", "")):
                yield f"{path.relative_to(ROOT)}: make {command}-{name}{f' SIZE={size}' if size else ''} has {count} runs, not {number}"


def count_of(experiment: Experiment) -> int:
    """On the data sets that everybody has; on the first one if there are none."""
    data = [data for data in experiment.data if not data.optional and not data.instead_of] or experiment.data[:1]
    return len(data) * len(experiment.runs) * len(experiment.seeds)
