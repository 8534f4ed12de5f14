"""Checks claims ([[claim]] in config.toml) and recorded values ([[repeats]], expected.json)."""

from __future__ import annotations

import math
import operator
import statistics
from dataclasses import dataclass
from typing import Any

from config import Experiment, UserError, any_of, when_stated
from intervals import half_width, half_width_of_another
from paragrad.runs import MACHINE
from records import REFUSED, recorded, why_unused
from results import Results
from terms import read_term

OPERATORS = {"<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt}


@dataclass(frozen=True)
class Judgement:
    """What the results say about a claim."""

    verdict: str  # "holds", "FAILS" or, if the mean over the seeds satisfies the claim but not its whole confidence interval, "undecided"
    numbers: str


def term(runs: dict[str, dict[int, dict[str, Any]]], baselines: dict[str, str], text: Any) -> tuple[list[float], str]:
    """A number, or a term's values for every seed, and the printed form with the mean."""
    if isinstance(text, (int, float)):
        return [float(text)], f"{text:g}"
    found = read_term(text).values(runs, baselines)
    mean = statistics.fmean(found)
    shown = f"{100 * mean:.2f} %" if is_error(text) else f"{mean:.4g}"
    return found, f"{text} {shown}"


def is_error(side: Any) -> bool:
    """Whether the side of a claim is a share that is shown in %."""
    return isinstance(side, str) and side.endswith("error") and not side.startswith("rank(")


def judge(claim: dict[str, Any], runs: dict[str, dict[int, dict[str, Any]]], baselines: dict[str, str]) -> Judgement:
    """`margin` is the slack: left <= right + margin, left >= right - margin. Two runs are compared seed by seed."""
    try:
        compare = OPERATORS[claim["op"]]
        left, left_text = term(runs, baselines, claim["left"])
        right, right_text = term(runs, baselines, claim["right"])
    except KeyError as error:
        raise UserError(f"the claim '{claim.get('text', '?')}' lacks {error} or has an unknown one") from error
    of_errors = is_error(claim["left"] if isinstance(claim["left"], str) else claim["right"])
    margin = claim.get("margin", 0)
    signed = margin if claim["op"].startswith("<") else -margin
    slack = ""
    if margin:
        slack = f" {'+' if signed > 0 else '-'} {f'{100 * abs(signed):g} %' if of_errors else f'{abs(signed):g}'}"
    seeds = max(len(left), len(right))
    left, right = left * (seeds // len(left)), right * (seeds // len(right))
    if not all(map(math.isfinite, left + right)):  # without an interval, each seed counts
        satisfied = [one != other and compare(one, other + signed) for one, other in zip(left, right)]
        return Judgement("holds" if all(satisfied) else "undecided" if any(satisfied) else "FAILS", f"{left_text} {claim['op']} {right_text}{slack}")
    differences = [one - other for one, other in zip(left, right)]
    mean, half = statistics.fmean(left) - statistics.fmean(right), half_width(differences)
    numbers = f"{left_text} {claim['op']} {right_text}{slack}"
    varies = half > 1e-9 * max(map(abs, left + right))  # simulated times are the same for every seed, but for rounding
    if varies:
        numbers += f"; difference {f'{100 * mean:+.2f} ± {100 * half:.2f} points' if of_errors else f'{mean:+.4g} ± {half:.3g}'}"
    if not compare(statistics.fmean(left), statistics.fmean(right) + signed):
        return Judgement("FAILS", numbers)
    farthest = mean + half if claim["op"].startswith("<") else mean - half
    return Judgement("holds" if not varies or compare(farthest, signed) else "undecided", numbers)


def check_claims(experiment: Experiment, results: Results) -> bool:
    good = True
    for data, runs in results.items():
        for claim in experiment.claims_of(data):
            found = judge(claim, runs, experiment.baselines)
            good = good and found.verdict != "FAILS"
            print(f"{found.verdict:<9} {data}: {claim['text']}{when_stated(claim)}\n          {found.numbers}")
    return good


def value_of(result: dict[str, Any], metric: str) -> float:
    """The metric of a [[repeats]]."""
    if metric not in result:
        raise UserError(f"unknown metric '{metric}' in [[repeats]] or [[claim]]; known: {', '.join(sorted(result))}")
    return result[metric]


@dataclass(frozen=True)
class Repetition:
    """A [[repeats]]: the values of this size's runs compared with the recorded ones."""

    summary: str
    wrong: list[str]  # a line for each value that is too far off or not recorded


def check_repeats(experiment: Experiment, results: Results) -> bool:
    expected = recorded(experiment)
    if not expected:
        print(f"no recorded values for size {experiment.size}: record them with make record-{experiment.name}")
        return True
    for data in results.keys() - expected.keys():
        print(f"{data}: no recorded values, not compared")
    return print_repetitions(repetitions(experiment, results, expected))


def print_repetitions(found: list[Repetition], of_what: str = "") -> bool:
    """Whether all values repeat."""
    for repetition in found:
        print(f"{'FAILS' if repetition.wrong else 'holds'}  {of_what}{repetition.summary}")
        for line in repetition.wrong:
            print(f"         {line}")
    return not any(repetition.wrong for repetition in found)


def repetitions(experiment: Experiment, results: Results, expected: Results, by_seeds: bool = False) -> list[Repetition]:
    """Compares the data sets that are in both. by_seeds: values of other machines within the interval of the recorded seeds."""
    compared, unused = {data: runs for data, runs in results.items() if data in expected}, why_unused(experiment)
    return [repetition(entry, compared, expected, unused, by_seeds) for entry in experiment.repeats]


def seed_deviations(of_data: dict[str, dict[int, dict[str, Any]]], metric: str) -> dict[str, float]:
    """The standard deviation of each run over its recorded seeds, at least that of the median run: with other rounding a run is
    another draw, as with another seed, and few seeds may be close by chance."""
    found = {run: statistics.stdev(known) for run, seeds in of_data.items() if len(known := finite(seeds, metric)) > 1}
    return {run: max(deviation, statistics.median(found.values())) for run, deviation in found.items()}


def finite(seeds: dict[int, dict[str, Any]], metric: str) -> list[float]:
    return [result[metric] for result in seeds.values() if math.isfinite(result.get(metric, math.nan))]


def repetition(entry: dict[str, Any], results: Results, expected: Results, unused: dict[tuple[str, str], str] | None = None,
               by_seeds: bool = False) -> Repetition:
    """Values recorded on a machine like this run's must be the same to the last bit, others within the entry's tolerance, or with by_seeds
    within the interval in which another seed is expected, if the seeds differ."""
    metric = entry["metric"]
    checked, exact, in_interval, worst, wrong = 0, 0, 0, 0.0, []
    for data, runs in results.items():
        deviations = seed_deviations(expected[data], metric) if "deviations" in entry or by_seeds else {}
        for run, seeds in runs.items():
            if not any_of(entry.get("runs", ["*"]), run):
                continue
            for seed, result in seeds.items():
                of_run = expected[data].get(run, {})
                want = of_run.get(seed, {}).get(metric)
                if want is None:
                    why = (unused or {}).get((data, run), "")
                    what = why if any(state.value in why for state in REFUSED) else f"no recorded {metric}"
                    wrong.append(f"{data} {run} seed {seed}: {what} (make record-…)")
                    continue
                value, alike = value_of(result, metric), of_run[seed].get(MACHINE) == result.get(MACHINE, "unknown")
                center, tolerance = want, (entry.get("absolute", 0) + entry.get("relative", 0) * abs(want)
                                           + entry.get("deviations", 0) * deviations.get(run, 0))
                if by_seeds and not alike and deviations.get(run):
                    known, in_interval = finite(of_run, metric), in_interval + 1
                    center, tolerance = statistics.fmean(known), half_width_of_another(deviations[run], len(known))
                checked, exact, worst = checked + 1, exact + alike, max(worst, abs(value - want))
                if not abs(value - center) <= (0 if alike else tolerance):
                    wrong.append(f"{data} {run} seed {seed}: {metric} {value:.17g}, recorded {want:.17g}"
                                 f"{' on a machine like this one' if alike else ''}")
    return Repetition(summary(entry, checked, exact, in_interval, worst), wrong)


def summary(entry: dict[str, Any], checked: int, exact: int, in_interval: int, worst: float) -> str:
    allowed = " + ".join(f"{entry[kind]:g} {name}" for kind, name in (("absolute", "absolute"), ("relative", "relative"),
                                                                     ("deviations", "standard deviations over the seeds")) if kind in entry)
    here = f"; none for the {exact} recorded on a machine like this one" if exact else ""
    other = f"; the 95 % interval of the seeds for the {in_interval} recorded on another machine" if in_interval else ""
    return f"{entry['metric']} repeats: {checked} values, largest difference {worst:.3g} (tolerance {allowed}{here}{other})"
