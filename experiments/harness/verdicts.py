"""Checks claims ([[claim]] in config.toml) and recorded values ([[repeats]], expected.json)."""

from __future__ import annotations

import operator
import statistics
from dataclasses import dataclass
from typing import Any

from config import Experiment, UserError, any_of
from records import fully_recorded, recorded
from results import Results, values

OPERATORS = {"<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt}


def term(runs: dict[str, dict[int, dict[str, Any]]], baselines: dict[str, str], text: Any) -> tuple[float, str]:
    """A number, or the mean of RUN.METRIC over the seeds, and its printed form."""
    if isinstance(text, (int, float)):
        return float(text), f"{text:g}"
    run, _, metric = text.rpartition(".")
    mean = statistics.fmean(values(runs, baselines, run, metric))
    shown = f"{100 * mean:.2f} %" if metric.endswith("error") else f"{mean:.4g}"
    return mean, f"{text} {shown}"


def judge(claim: dict[str, Any], runs: dict[str, dict[int, dict[str, Any]]], baselines: dict[str, str]) -> tuple[bool, str]:
    """`margin` is the slack: left <= right + margin, left >= right - margin."""
    try:
        compare = OPERATORS[claim["op"]]
        left, left_text = term(runs, baselines, claim["left"])
        right, right_text = term(runs, baselines, claim["right"])
    except KeyError as error:
        raise UserError(f"the claim '{claim.get('text', '?')}' lacks {error} or has an unknown one") from error
    margin = claim.get("margin", 0)
    signed = margin if claim["op"].startswith("<") else -margin
    slack = ""
    if margin:
        both = f"{100 * abs(signed):g} %" if str(claim["left"]).endswith("error") else f"{abs(signed):g}"
        slack = f" {'+' if signed > 0 else '-'} {both}"
    return compare(left, right + signed), f"{left_text} {claim['op']} {right_text}{slack}"


def check_claims(experiment: Experiment, results: Results, partial: bool = False) -> bool:
    """partial: claims about values that are not among the results are open, which is not an error."""
    good = True
    for data, runs in results.items():
        for claim in experiment.claims_of(data):
            try:
                holds, numbers = judge(claim, runs, experiment.baselines)
                word = "holds" if holds else "FAILS"
            except UserError:
                if not partial:
                    raise
                word, numbers = "open ", f"{claim['left']} {claim['op']} {claim['right']}: not all of these values are recorded"
            good = good and word != "FAILS"
            print(f"{word}  {data}: {claim['text']}\n         {numbers}")
    return good


def check_recorded_claims(experiment: Experiment) -> bool:
    """Checks the claims by the values of expected.json."""
    results = fully_recorded(experiment)
    if not results:
        print(f"no recorded values for size {experiment.size}: record them with make record-{experiment.name}")
    return check_claims(experiment, results, partial=True)


def value_of(result: dict[str, Any], metric: str) -> float:
    """The metric of a [[repeats]]."""
    if metric not in result:
        raise UserError(f"[[repeats]] has the unknown metric '{metric}'; known: {', '.join(sorted(result))}")
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
    found = repetitions(experiment, results, expected)
    for repetition in found:
        print(f"{'FAILS' if repetition.wrong else 'holds'}  {repetition.summary}")
        for line in repetition.wrong:
            print(f"         {line}")
    return not any(repetition.wrong for repetition in found)


def repetitions(experiment: Experiment, results: Results, expected: Results) -> list[Repetition]:
    """Compares the data sets that are in both."""
    compared = {data: runs for data, runs in results.items() if data in expected}
    return [repetition(entry, compared, expected) for entry in experiment.repeats]


def repetition(entry: dict[str, Any], results: Results, expected: Results) -> Repetition:
    metric = entry["metric"]
    checked, worst, wrong = 0, 0.0, []
    for data, runs in results.items():
        for run, seeds in runs.items():
            if not any_of(entry.get("runs", ["*"]), run):
                continue
            for seed, result in seeds.items():
                want = expected[data].get(run, {}).get(seed, {}).get(metric)
                if want is None:
                    wrong.append(f"{data} {run} seed {seed}: no recorded {metric} (make record-…)")
                    continue
                off = abs(value_of(result, metric) - want)
                checked, worst = checked + 1, max(worst, off)
                if not off <= entry.get("absolute", 0) + entry.get("relative", 0) * abs(want):
                    wrong.append(f"{data} {run} seed {seed}: {metric} {result[metric]:.10g}, recorded {want:.10g}")
    tolerance = " + ".join(f"{entry[kind]:g} {kind}" for kind in ("absolute", "relative") if kind in entry)
    return Repetition(f"{metric} repeats: {checked} values, largest difference {worst:.3g} (tolerance {tolerance})", wrong)
