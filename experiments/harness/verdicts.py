"""Claims ([[claim]] in config.toml) and repetition of recorded values ([[repeats]], expected.json)."""

from __future__ import annotations

import json
import math
import operator
import statistics
from typing import Any

from config import ROOT, UserError, any_of
from runner import Runner

OPERATORS = {"<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt}
Results = dict[str, dict[str, dict[int, dict[str, Any]]]]  # data set, run, seed


def collect(runner: Runner) -> Results:
    experiment = runner.experiment
    return {data.name: {run.name: {seed: runner.result(runner.job(data, run, seed)) for seed in experiment.seeds}
                        for run in experiment.runs} for data in runner.data_sets()}


def values(runs: dict[str, dict[int, dict[str, Any]]], baselines: dict[str, str], run: str, metric: str) -> list[float]:
    """Of all seeds. Derived: speed_up over the run's baseline in samples per second; efficiency is that per worker;
    sooner: the baseline's whole time over the run's; X_over_baseline: the run's X over the baseline's."""
    if run not in runs:
        raise UserError(f"'{run}.{metric}': the run is not in this size")
    found, baseline = [], baselines[run]
    for seed, result in runs[run].items():
        known = dict(result)
        if baseline in runs and "samples_per_s" in result:
            known["speed_up"] = result["samples_per_s"] / runs[baseline][seed]["samples_per_s"]
            known["efficiency"] = known["speed_up"] / result["workers"]
            known["sooner"] = runs[baseline][seed]["total_s"] / result["total_s"]
        plain = metric.removesuffix("_over_baseline")
        if baseline in runs and plain != metric and plain in result:
            known[metric] = result[plain] / runs[baseline][seed][plain]
        if metric not in known:
            raise UserError(f"'{run}.{metric}': no such metric; known: {', '.join(sorted(known))}")
        found.append(known[metric])
    return found


def term(runs: dict[str, dict[int, dict[str, Any]]], baselines: dict[str, str], text: Any) -> tuple[float, str]:
    """A number, or the mean over seeds of RUN.METRIC, and how to print it."""
    if isinstance(text, (int, float)):
        return float(text), f"{text:g}"
    run, _, metric = text.rpartition(".")
    mean = statistics.fmean(values(runs, baselines, run, metric))
    shown = f"{100 * mean:.2f} %" if metric.endswith("error") else f"{mean:.4g}"
    return mean, f"{text} {shown}"


def spelled_out(claim: dict[str, Any]) -> list[dict[str, Any]]:
    """A claim with `each` is one claim per position of its lists."""
    each = claim.get("each", {})
    if not each:
        return [claim]
    rows = [dict(zip(each, row)) for row in zip(*each.values())]
    return [{key: value.format(**row) if isinstance(value, str) else value for key, value in claim.items()} for row in rows]


def judge(claim: dict[str, Any], runs: dict[str, dict[int, dict[str, Any]]], baselines: dict[str, str]) -> tuple[bool, str]:
    """`margin` is what may be lacking: left <= right + margin, left >= right - margin."""
    try:
        compare = OPERATORS[claim["op"]]
        left, left_text = term(runs, baselines, claim["left"])
        right, right_text = term(runs, baselines, claim["right"])
    except KeyError as error:
        raise UserError(f"the claim '{claim.get('text', '?')}' has no or an unknown {error}") from error
    margin = claim.get("margin", 0)
    signed = margin if claim["op"].startswith("<") else -margin
    slack = ""
    if margin:
        both = f"{100 * abs(signed):g} %" if str(claim["left"]).endswith("error") else f"{abs(signed):g}"
        slack = f" {'+' if signed > 0 else '-'} {both}"
    return compare(left, right + signed), f"{left_text} {claim['op']} {right_text}{slack}"


def check_claims(runner: Runner, results: Results) -> bool:
    good = True
    for data, runs in results.items():
        for entry in runner.experiment.claims:
            if data not in entry.get("data", [data]):
                continue
            for claim in spelled_out(entry):
                holds, numbers = judge(claim, runs, runner.experiment.baselines)
                good = good and holds
                print(f"{'holds' if holds else 'FAILS'}  {data}: {claim['text']}\n         {numbers}")
    return good


def expected_file(runner: Runner) -> Any:
    return runner.experiment.folder / "expected.json"


def known_metrics(result: dict[str, Any], metrics: list[str]) -> dict[str, Any]:
    """Those of the metrics that the run has; a timing run has no scores."""
    return {metric: result[metric] for metric in metrics if not math.isnan(result[metric])}


def record(runner: Runner, results: Results) -> None:
    """Keeps what stands there of other sizes and of data sets that are not there now."""
    path = expected_file(runner)
    expected = json.loads(path.read_text()) if path.exists() else {}
    metrics = [entry["metric"] for entry in runner.experiment.repeats]
    size = expected.setdefault(runner.experiment.size, {})
    for data, runs in results.items():
        size[data] = {run: {str(seed): known_metrics(result, metrics) for seed, result in seeds.items()} for run, seeds in runs.items()}
    path.write_text(json.dumps(expected, indent=1, sort_keys=True) + "\n")
    print(f"wrote {path.relative_to(ROOT)}")


def check_repeats(runner: Runner, results: Results) -> bool:
    path = expected_file(runner)
    expected = json.loads(path.read_text()).get(runner.experiment.size) if path.exists() else None
    if not expected:
        print(f"no recorded values for size {runner.experiment.size}: make record-{runner.experiment.name}")
        return True
    for data in results.keys() - expected.keys():
        print(f"{data}: no recorded values, not compared")
    recorded = {data: runs for data, runs in results.items() if data in expected}
    good = True
    for entry in runner.experiment.repeats:
        good = check_metric(entry, recorded, expected) and good
    return good


def check_metric(entry: dict[str, Any], results: Results, expected: dict[str, Any]) -> bool:
    metric = entry["metric"]
    checked, worst, wrong = 0, 0.0, []
    for data, runs in results.items():
        for run, seeds in runs.items():
            if not any_of(entry.get("runs", ["*"]), run):
                continue
            for seed, result in seeds.items():
                want = expected[data].get(run, {}).get(str(seed), {}).get(metric)
                if want is None:
                    wrong.append(f"{data} {run} seed {seed}: no recorded {metric} (make record-…)")
                    continue
                off = abs(result[metric] - want)
                checked, worst = checked + 1, max(worst, off)
                if not off <= entry.get("absolute", 0) + entry.get("relative", 0) * abs(want):
                    wrong.append(f"{data} {run} seed {seed}: {metric} {result[metric]:.10g}, recorded {want:.10g}")
    tolerance = " + ".join(f"{entry[kind]:g} {kind}" for kind in ("absolute", "relative") if kind in entry)
    print(f"{'FAILS' if wrong else 'holds'}  {metric} repeats: {checked} values, largest difference {worst:.3g} "
          f"(tolerance {tolerance})")
    for line in wrong:
        print(f"         {line}")
    return not wrong
