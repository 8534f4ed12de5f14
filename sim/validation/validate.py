#!/usr/bin/env python3
"""How good the predictions are: every published measurement that can be expressed, predicted without it. `make validation`."""

import argparse
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import published
from published import HERE, Series

STUDENT = {95: 2.776445, 80: 1.533206}  # t, 4 degrees of freedom
LONG = 64_000_000  # bytes, from which bandwidth decides
OPTIONS = {"strategy": "data_parallel", "collective": "nccl", "bucket-bytes": 25_000_000, "overlap": "true"}
SIZES = (8192, 64 << 20, 4 << 30)  # of a collective, to which its other times are fitted


@dataclass
class Verdict:
    """One row, predicted without it."""

    kind: str
    cluster: str
    series: str
    what: str
    measured_s: float
    predicted_s: float
    known: float = 0  # standard deviation of the logarithm that the parameters leave
    exchange: float = 0
    spread: float = 0
    beyond: bool = False
    line_s: float = 0  # perfect scaling from the last fitted row
    doubling_s: float = 0  # each doubling of the workers costs what it cost among the fitted rows

    def error(self, of: float | None = None) -> float:
        return abs((of or self.predicted_s) / self.measured_s - 1)

    def inside(self, percent: int) -> bool:
        return abs(math.log(self.predicted_s / self.measured_s)) <= STUDENT[percent] * self.spread


class Program:
    def __init__(self, path: Path, folder: Path):
        self.path, self.folder, self.made = path, folder, 0

    def run(self, *arguments: str) -> str:
        done = subprocess.run([self.path, *map(str, arguments)], capture_output=True, text=True, timeout=1800, check=False)
        if done.returncode != 0:
            raise SystemExit(f"paragrad {' '.join(map(str, arguments))}: {done.stderr}")
        return done.stdout

    def file(self, text: str, ending: str) -> Path:
        self.made += 1
        path = self.folder / f"{self.made}{ending}"
        path.write_text(text)
        return path

    def fit(self, platform: str, rows: list[dict]) -> dict:
        names = list(dict.fromkeys(name for row in rows for name in row))
        table = "\n".join(",".join(str(row.get(name, "")) for name in names) for row in rows)
        return json.loads(self.run("fit", self.file(",".join(names) + "\n" + table + "\n", ".csv"), "--platform",
                                   self.file(platform, ".toml"), "--format", "json", "--leave-one-out", "false"))

    def collective(self, platform: str, rows: list[dict]) -> list[float]:
        out = self.folder / f"collective-{self.made}"
        self.run("collective", "--operation", rows[0]["operation"], "--collective", "nccl", "--workers", rows[0]["workers"], "--bytes",
                 ",".join(f"{row['bytes']}B" for row in rows), "--platform", self.file(platform, ".toml"), "--out", out)
        return [json.loads(line)["time_s"] for line in (out / "metrics.jsonl").read_text().splitlines()]


def seconds(row: dict) -> float:
    return row["time"] if "time" in row else 1 / row["samples_per_s"]


def with_use(row: dict, use: str, options: dict | None = None) -> dict:
    row = {**row, "use": use}
    if "bytes" in row:
        return {**row, "bytes": f"{row['bytes']}B", "time": f"{row['time'] * 1e6}us"}
    options = {"strategy": "data_parallel", **(options or OPTIONS)}
    if row["workers"] == 1:  # there is no exchange
        options = {"strategy": "data_parallel", **{name: value for name, value in options.items() if name == "micro-batch"}}
    return {**row, **options}


def baselines(fitted: list[dict], row: dict) -> tuple[float, float]:
    last, before = fitted[-1], fitted[0]
    doublings = math.log2(row["workers"] / last["workers"])
    line = last["samples_per_s"] * row["workers"] / last["workers"]
    each = (last["samples_per_s"] / before["samples_per_s"]) ** (1 / math.log2(last["workers"] / before["workers"]))
    return 1 / line, 1 / (last["samples_per_s"] * each**doublings)


def level(row: dict, facts: dict) -> int:
    return 0 if row["workers"] == 1 else 1 if row["workers"] <= facts["per_node"] else 2


def tasks(series: Series) -> list[tuple[str, list[dict], list[dict]]]:
    """Kind, the rows to fit and those to predict."""
    rows, found = series.rows, []
    levels = [level(row, series.facts) for row in rows]
    if (same := [row for row in rows[2:] if level(row, series.facts) == levels[1]]) and levels[1] > 0:
        found.append(("two rows, same level", rows[:2], same))
    first_beyond = next((i for i, one in enumerate(levels) if one == 2), len(rows))
    if first_beyond >= 2 and first_beyond + 1 < len(rows) and levels[first_beyond - 1] == 1:
        fitted = [rows[0], rows[first_beyond - 1], rows[first_beyond]]
        found.append(("three rows, one crosses nodes", fitted, rows[first_beyond + 1 :]))
    if first_beyond >= 2 and first_beyond < len(rows) and levels[first_beyond - 1] == 1:
        found.append(("across a level", rows[:first_beyond], rows[first_beyond:]))
    return found


def judge_fit(program: Program, series: Series, kind: str, fitted: list[dict], others: list[dict], factor: float) -> list[Verdict]:
    report = program.fit(published.platform_text(series.facts, factor),
                         [with_use(row, "fit", series.options) for row in fitted] +
                         [with_use(row, "predict", series.options) for row in others])
    verdicts = []
    for row, one in zip(others, report["rows"][len(fitted) :], strict=True):
        line, doubling = baselines(fitted, row) if "workers" in row and "bytes" not in row else (0, 0)
        what = f"{row['bytes']} bytes" if "bytes" in row else f"{row['workers']} workers"
        verdicts.append(Verdict(kind, series.cluster, series.name, what, seconds(row), one["predicted_s"], one["known"], one["exchange"],
                                one["spread"], one["beyond"], line, doubling))
    return verdicts


def nearest(rows: list[dict], size: int) -> int:
    return min(range(len(rows)), key=lambda i: abs(math.log(rows[i]["bytes"] / size)))


def judge_collective(program: Program, series: Series, factor: float) -> list[Verdict]:
    """Unfitted, and fitted to three sizes."""
    rows = series.rows
    times = program.collective(published.platform_text(series.facts, factor), rows)
    verdicts = [Verdict("collective, unfitted", series.cluster, series.name, f"{row['bytes']} bytes", row["time"], time)
                for row, time in zip(rows, times, strict=True)]
    chosen = sorted({nearest(rows, size) for size in SIZES})
    if len(rows) < 6 or len(chosen) < 3:
        return verdicts
    others = [row for i, row in enumerate(rows) if i not in chosen]
    return verdicts + judge_fit(program, series, "collective, three sizes", [rows[i] for i in chosen], others, factor)


def network_factors(verdicts: list[Verdict], all_series: list[Series]) -> dict[str, float]:
    """For each cluster, which share of the network's nominal bandwidth all others reach."""
    nodes = {series.name: series.nodes for series in all_series}
    ratios: dict[str, list[float]] = {}
    for one in verdicts:
        if one.kind == "collective, unfitted" and nodes[one.series] > 1 and int(one.what.split()[0]) >= LONG:
            ratios.setdefault(one.cluster, []).append(math.log(one.predicted_s / one.measured_s))
    means = {cluster: statistics.mean(logs) for cluster, logs in ratios.items()}
    clusters = {series.cluster for series in all_series}
    return {cluster: math.exp(statistics.median([mean for other, mean in means.items() if other != cluster] or [0])) for cluster in clusters}


def by_cluster(verdicts: list[Verdict], value) -> float:
    """Mean over clusters of the mean of a cluster."""
    groups: dict[str, list[float]] = {}
    for one in verdicts:
        groups.setdefault(one.cluster, []).append(value(one))
    return statistics.mean(statistics.mean(values) for values in groups.values())


def summary(verdicts: list[Verdict]) -> list[dict]:
    kinds: dict[str, list[Verdict]] = {}
    for one in verdicts:
        kinds.setdefault(one.kind, []).append(one)
        if one.kind.startswith("collective") and int(one.what.split()[0]) >= LONG:
            kinds.setdefault(f"{one.kind}, 64 MB and more", []).append(one)
    table = []
    for kind, some in sorted(kinds.items()):
        errors = sorted(one.error() for one in some)
        row = {"kind": kind, "rows": len(some), "clusters": len({one.cluster for one in some}),
               "mean": round(100 * statistics.mean(errors), 1), "by_cluster": round(100 * by_cluster(some, Verdict.error), 1),
               "median": round(100 * statistics.median(errors), 1), "within_7": round(100 * statistics.mean(e <= 0.07 for e in errors))}
        if some[0].line_s:
            row |= {"line": round(100 * statistics.mean(one.error(one.line_s) for one in some), 1),
                    "doubling": round(100 * statistics.mean(one.error(one.doubling_s) for one in some), 1)}
        if some[0].spread:
            row |= {f"inside_{p}": round(100 * by_cluster(some, lambda one, p=p: one.inside(p))) for p in STUDENT}
            row["half_width_95"] = round(100 * statistics.median(math.expm1(STUDENT[95] * one.spread) for one in some), 1)
        table.append(row)
    return table


def show(table: list[dict], left_out: dict[str, int]) -> None:
    columns = {"kind": "predicted", "rows": "rows", "clusters": "clusters", "mean": "mean error", "by_cluster": "by cluster",
               "median": "median", "within_7": "within 7 %", "line": "straight line", "doubling": "log2 rule", "inside_95": "in 95 %",
               "inside_80": "in 80 %", "half_width_95": "± 95 %"}
    print("| " + " | ".join(columns.values()) + " |\n|" + "---|" * len(columns))
    for row in table:
        cells = [str(row.get(name, "–")) for name in columns]
        print("| " + " | ".join(cell if i < 3 or cell == "–" else f"{cell} %" for i, cell in enumerate(cells)) + " |")
    print("\nNot expressed:")
    for reason, rows in sorted(left_out.items(), key=lambda item: -item[1]):
        print(f"  {rows:5} rows: {reason}")


def table_file(program: Program, rows: list[dict]) -> Path:
    lines = [f"{row['operation']},nccl,{row['workers']},{row['bytes']}B,{row['time'] * 1e6}us" for row in rows]
    return program.file("\n".join(["operation,collective,workers,bytes,time", *lines]) + "\n", ".csv")


def explain(program: Program, pair: published.Pair) -> tuple[bool, str]:
    """Whether the sentence about a pair is right, and what it says."""
    said = program.run("fit", table_file(program, pair.rows), "--healthy", table_file(program, pair.healthy), "--explain", "--platform",
                       program.file(published.platform_text(pair.facts), ".toml")).strip()
    return said.startswith("another transport") if pair.is_slow else said.startswith("nothing is wrong"), f"{pair.name}: {said}"


def learn(verdicts: list[Verdict]) -> tuple[float, float, float]:
    """The constants of sim/fitting/residual.hpp under which the errors are most likely, clusters weighted equally."""
    weights: dict[str, int] = {}
    some = [one for one in verdicts if one.spread]
    for one in some:
        weights[one.cluster] = weights.get(one.cluster, 0) + 1

    def cost(step: float, exchange: float, beyond: float) -> float:
        total = 0.0
        for one in some:
            variance = one.known**2 + step**2 + (exchange * one.exchange) ** 2 + (beyond * one.exchange * one.beyond) ** 2
            error = math.log(one.predicted_s / one.measured_s)
            nu = 4  # Student's t: single rows are far off for reasons of their own
            total += (math.log(variance) / 2 + (nu + 1) / 2 * math.log1p(error**2 / variance / nu)) / weights[one.cluster]
        return total

    best = (0.02, 0.1, 0.3)
    for shrink in (1.6, 1.25, 1.1, 1.04):
        improved = True
        while improved:
            improved = False
            for i in range(3):
                for factor in (shrink, 1 / shrink):
                    trial = tuple(min(2.0, max(1e-3, value * factor)) if k == i else value for k, value in enumerate(best))
                    if cost(*trial) < cost(*best) - 1e-9:
                        best, improved = trial, True
    return best


def spread_of(one: Verdict, constants: tuple[float, float, float], wider: float) -> float:
    step, exchange, beyond = constants
    return math.sqrt(one.known**2 + wider**2 * (step**2 + (exchange * one.exchange) ** 2 + (beyond * one.exchange * one.beyond) ** 2))


def judge_without_own_cluster(verdicts: list[Verdict]) -> float:
    """Gives every row the spread that follows from the rows of all other clusters. Returns the factor by which the constants are made wider
    than learnt, as clusters differ more than the rows of one: the least with which 80 % of the trainings of clusters that were left out
    lie in their intervals of 80 %, clusters weighted equally."""
    some = [one for one in verdicts if one.spread]
    trainings = [one for one in some if not one.kind.startswith("collective")]
    learnt = {cluster: learn([one for one in some if one.cluster != cluster]) for cluster in {one.cluster for one in some}}
    for tenths in range(10, 31):
        for one in some:
            one.spread = spread_of(one, learnt[one.cluster], tenths / 10)
        if not trainings or by_cluster(trainings, lambda one: one.inside(80)) >= 0.8:
            return tenths / 10
    print("three times the spread holds fewer than 80 % of the trainings")
    return tenths / 10


def complain(table: list[dict], before: dict[str, dict]) -> int:
    """Prints what has become worse; 1 if anything has."""
    now = {row["kind"]: row for row in table}
    worse = [f"{kind}: not judged any more" for kind in before.keys() - now.keys()]
    for kind in before.keys() & now.keys():
        old, new = before[kind], now[kind]
        if new["mean"] > old["mean"] + 0.5:
            worse.append(f"{kind}: mean error {new['mean']} % instead of {old['mean']} %")
        for inside in ("inside_95", "inside_80"):
            if inside in old and new[inside] < old[inside] - 4:
                worse.append(f"{kind}: {new[inside]} % in the interval of {inside[-2:]} % instead of {old[inside]} %")
    if worse:
        print("\n".join(["", "worse than before:", *worse]))
    return 1 if worse else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", type=Path, default=Path("build/paragrad"))
    parser.add_argument("--published", type=Path, default=HERE, help="folder with nccl_modern.csv, training_scaling.csv and training_older.csv")
    parser.add_argument("--every", type=int, default=1, help="only every n-th series")
    parser.add_argument("--expected", type=Path, help="JSON of earlier summaries: fails if an error has grown")
    parser.add_argument("--write", action="store_true", help="write this summary there")
    parser.add_argument("--rows", type=Path, help="write every row as JSON")
    parser.add_argument("--learn", action="store_true", help="print the constants of sim/fitting/residual.def")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    over_sizes, left_out = published.collectives(arguments.published / "nccl_modern.csv")
    series, more = published.trainings(arguments.published / "training_scaling.csv")
    earlier, still_more = published.older(arguments.published / "training_older.csv")
    series += earlier
    for reason, rows in [*more.items(), *still_more.items()]:
        left_out[reason] = left_out.get(reason, 0) + rows
    over_sizes, series = over_sizes[:: arguments.every], series[:: arguments.every]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(arguments.jobs) as pool:
        programs = [Program(arguments.program.resolve(), Path(folder) / str(i)) for i in range(2 * len(over_sizes) + 3 * len(series) + len(published.pairs(arguments.published / "nccl_modern.csv")))]
        for program in programs:
            program.folder.mkdir()
        nominal = [one for some in pool.map(lambda pair: judge_collective(pair[0], pair[1], 1), zip(programs, over_sizes)) for one in some]
        factors = network_factors(nominal, over_sizes + series)
        jobs = [lambda program, one=one: judge_collective(program, one, factors[one.cluster]) for one in over_sizes]
        jobs += [lambda program, one=one, task=task: judge_fit(program, one, *task, factors[one.cluster]) for one in series for task in tasks(one)]
        verdicts = [one for some in pool.map(lambda pair: pair[0](pair[1]), zip(jobs, programs[len(over_sizes) :])) for one in some]
        asked = published.pairs(arguments.published / "nccl_modern.csv")
        answers = list(pool.map(lambda pair: explain(*pair), zip(programs, asked)))
    constants = learn(verdicts)
    wider = judge_without_own_cluster(verdicts)
    table = summary(verdicts)
    show(table, left_out)
    for is_slow, what in ((True, "slow clusters explained"), (False, "healthy clusters without an alarm")):
        these = [answer for answer, pair in zip(answers, asked) if pair.is_slow == is_slow]
        print(f"\n{what}: {sum(right for right, _ in these)} of {len(these)}" + "".join(f"\n  not: {said}" for right, said in these if not right))
    print(f"\nshare of the network's nominal bandwidth, median of all clusters: {network_factors(nominal, over_sizes + series + [Series('', '', {})])['']:.2f}")
    if arguments.rows:
        arguments.rows.write_text(json.dumps([vars(one) for one in verdicts], indent=1))
    if arguments.learn:
        print("residual: " + ", ".join(f"{wider * value:.3f}" for value in constants))
    if not arguments.expected or arguments.published != HERE:
        return 0
    summaries = {} if arguments.write and not arguments.expected.exists() else json.loads(arguments.expected.read_text())
    if arguments.write:
        arguments.expected.write_text(json.dumps(summaries | {str(arguments.every): table}, indent=1) + "\n")
    elif str(arguments.every) in summaries:
        return complain(table, {row["kind"]: row for row in summaries[str(arguments.every)]})
    return 0


if __name__ == "__main__":
    sys.exit(main())
