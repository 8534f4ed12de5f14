"""Judges the claims of an experiment, and its bounds on published values, by its records."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, Iterator

import published
from config import DataSet, Experiment, UserError, is_judged, when_stated
from records import Record, State, fully_recorded, recorded_runs, why_unused
from results import Results, is_relative
from terms import terms_of
from verdicts import judge

OUTCOMES = {"holds": ("holds", "hold"), "undecided": ("is undecided", "are undecided"), "FAILS": ("fails", "fail"),
            "open": ("is open", "are open")}  # of one, of several


@dataclass(frozen=True)
class Verdict:
    """What the records say about a [[claim]] on one data set, or about a [[published]] on all of them."""

    entry: dict[str, Any]
    verdict: str  # one of OUTCOMES; "shown" for a [[published]] without a bound
    numbers: str  # of a claim; or why it is open
    data: str = ""
    runs: frozenset[str] = frozenset()  # that it is about, with their baselines
    comparison: published.Comparison | None = None  # of a [[published]] that is not open


def verdicts_of(experiment: Experiment) -> list[Verdict]:
    """In the order of the data sets and of config.toml; those on published values first."""
    results, unused = fully_recorded(experiment), why_unused(experiment)
    return [*(by_records(experiment, results, unused, entry) for entry in experiment.published),
            *(of_claim(experiment, results, unused, data.name, claim) for data in data_sets(experiment)
              for claim in experiment.claims_of(data.name))]


def data_sets(experiment: Experiment) -> list[DataSet]:
    """Without those that stand in for another one, unless they are recorded and it is not."""
    there = Record(experiment.expected_file).read().get(experiment.size, {})
    in_use = {data.instead_of for data in experiment.data if data.instead_of and data.name in there and data.instead_of not in there}
    return [data for data in experiment.data
            if data.name not in in_use and (not data.instead_of or data.instead_of in in_use or data.name in there)]


def of_claim(experiment: Experiment, results: Results, unused: dict[tuple[str, str], str], data: str, claim: dict[str, Any]) -> Verdict:
    runs = runs_behind(experiment, claim)
    try:
        found = judge(claim, results.get(data, {}), experiment.baselines)
        return Verdict(claim, found.verdict, found.numbers, data, runs)
    except UserError:
        return Verdict(claim, "open", why_open(experiment, unused, data, claim), data, runs)


def why_open(experiment: Experiment, unused: dict[tuple[str, str], str], data: str, claim: dict[str, Any]) -> str:
    """unused: records.why_unused of the experiment."""
    reasons = [unused[data, run] for run in sorted(runs_behind(experiment, claim)) if (data, run) in unused]
    why = joined(reasons) or "this metric is not recorded"
    return f"{claim['left']} {claim['op']} {claim['right']}: {why}"


def joined(reasons: list[str]) -> str:
    """Each of the form "reason: run"."""
    runs: dict[str, list[str]] = {}
    for reason in dict.fromkeys(reasons):
        why, _, run = reason.rpartition(": ")
        runs.setdefault(why, []).append(run)
    return " and ".join(f"{why}: {', '.join(of_reason[:6])}{f' and {len(of_reason) - 6} more' if len(of_reason) > 6 else ''}"
                        for why, of_reason in runs.items())


def runs_behind(experiment: Experiment, claim: dict[str, Any]) -> frozenset[str]:
    """The runs of a claim, and the baselines of those with a relative metric."""
    terms = [(term, term.among(experiment.baselines)) for term in terms_of(claim)]
    relative = {run for term, runs in terms for run in runs if any(map(is_relative, term.metrics))}
    return frozenset({*(run for _, runs in terms for run in runs), *(experiment.baselines[run] for run in relative if experiment.baselines.get(run))})


def by_records(experiment: Experiment, results: Results, unused: dict[tuple[str, str], str], entry: dict[str, Any]) -> Verdict:
    """A [[published]] is open unless all its rows are recorded on all data sets that are recorded at all."""
    names = {run.name for run in published.runs_with_rows(experiment, entry)}
    runs = frozenset(names | {experiment.baselines[run] for run in names if is_relative(entry["metric"]) and experiment.baselines[run]})
    there = results or {data.name: {} for data in experiment.data}
    reasons = [unused[data, run] for data in there for run in sorted(runs) if (data, run) in unused]
    try:
        if not reasons:
            found = published.compare(experiment, results, entry)
            return Verdict(entry, found.verdict, "", runs=runs, comparison=found)
    except UserError:
        why = f"{entry['metric']} is not recorded" if names else "no published row is a run of this size"
    return Verdict(entry, "open" if is_judged(entry) else "shown", joined(reasons) or why, runs=runs)


def counts_of(verdicts: list[Verdict]) -> Counter[str]:
    return Counter(one.verdict for one in verdicts if one.verdict in OUTCOMES)


def counted(verdicts: list[Verdict]) -> str:
    """Of 9 claims 4 hold, 3 are undecided and 2 are open."""
    counts = counts_of(verdicts)
    total = sum(counts.values())
    if not total:
        return "There are no claims."
    parts = [f"{counts[outcome]} {words[counts[outcome] > 1]}" for outcome, words in OUTCOMES.items() if counts[outcome]]
    if len(parts) == 1 and total > 1:
        return f"All {total} claims {parts[0].partition(' ')[2]}."
    return f"Of {total} claims {' and '.join(filter(None, (', '.join(parts[:-1]), parts[-1])))}." if total > 1 else f"The claim {parts[0].partition(' ')[2]}."


def check_recorded(experiment: Experiment) -> bool:
    """Prints the verdicts on all claims and bounds; whether none fails."""
    runs, verdicts = list(recorded_runs(experiment)), verdicts_of(experiment)
    if not any(run.values for run in runs):
        print(f"no recorded values for size {experiment.size}: record them with make record-{experiment.name}")
    for one in verdicts:
        print("\n".join(lines_of(one)))
    print(f"{experiment.name}, {experiment.size}: {counted(verdicts)}")
    if unnamed := [run for run in runs if run.state is State.UNNAMED]:
        print(f"{len(unnamed)} of {len(runs)} runs were recorded without their options, so these verdicts may be about others: make queue records "
              f"them again")
    return all(one.verdict != "FAILS" for one in verdicts)


def lines_of(one: Verdict) -> Iterator[str]:
    if one.comparison:
        yield from published.lines_of(one.entry, one.comparison)
    else:
        of_data = f"{one.data}: " if one.data else ""
        yield from (f"{one.verdict:<9} {of_data}{one.entry['text']}{when_stated(one.entry)}", f"          {one.numbers}")
