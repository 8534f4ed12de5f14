#!/usr/bin/env python3
"""--timeline and --sync-stats: what they write is true, bounded, and changes nothing."""

import json
import re
import unittest

from paragrad_cli import PLATFORM, CliTest, run, weights

TRACED = ["--timeline", "--overwrite"]
BUCKETS = {"data_parallel": ["--bucket-bytes", "300"]}  # by strategy


def rows(trace: dict) -> dict[int, list[tuple[int, int, str]]]:
    """Row number -> (begin, end, name) of its spans, in picoseconds."""
    found: dict[int, list[tuple[int, int, str]]] = {}
    for event in trace["traceEvents"]:
        if event["ph"] == "X":
            begin, length = (round(event[key] * 1e6) for key in ("ts", "dur"))
            found.setdefault(event["tid"], []).append((begin, begin + length, event["name"]))
    return found


def seconds(spans: list[tuple[int, int, str]], name: str) -> float:
    return sum(end - begin for begin, end, what in spans if what == name) * 1e-12


class Timeline(CliTest):
    def traced(self, *arguments: str, ranks: int = 0, workers: int = 0, strategy: str = "data_parallel"):
        """(result, trace, manifest) of a run with a timeline, of ranks or simulated."""
        out = self.folder / "run"
        options = ["--strategy", strategy, *BUCKETS.get(strategy, []), *TRACED, *arguments, "--out", str(out)]
        result = run("train", *self.task, *options, ranks=ranks) if ranks else self.simulate(workers, *options)
        weights(result)
        return result, json.loads((out / "timeline.json").read_text()), json.loads((out / "manifest.json").read_text())

    def assert_rows_nest(self, trace: dict) -> None:
        for spans in rows(trace).values():
            open_until: list[int] = []
            for begin, end, name in sorted(spans, key=lambda span: (span[0], -span[1])):
                while open_until and open_until[-1] <= begin:
                    open_until.pop()
                self.assertTrue(not open_until or end <= open_until[-1], f"{name} crosses the end of another span")
                open_until.append(end)

    def assert_sums_are_the_manifests(self, trace: dict, manifest: dict) -> None:
        own = rows(trace)[0]
        result = manifest["result"]
        for name in ("aggregate", "validate"):
            self.assertAlmostEqual(seconds(own, name), result[f"{name}_s"], delta=1e-9)
        self.assertAlmostEqual(seconds(own, "block") - seconds(own, "aggregate"), result["optimise_s"], delta=1e-9)

    def test_the_trace_of_a_simulation_nests_and_adds_up_to_the_manifest(self):
        for strategy in ("data_parallel", "bmuf"):
            _, trace, manifest = self.traced(workers=3, strategy=strategy)
            self.assert_rows_nest(trace)
            self.assert_sums_are_the_manifests(trace, manifest)
            self.assertEqual(trace["otherData"]["clock"], "simulated")
            self.assertEqual(trace["otherData"]["dropped"], 0)
            sent = [e for e in trace["traceEvents"] if e["ph"] == "b"]
            self.assertEqual(len(sent), manifest["simulation"]["messages"])
            self.assertEqual(sum(e["args"]["bytes"] for e in sent), manifest["simulation"]["bytes"])

    def test_the_trace_of_ranks_nests_and_adds_up_to_the_manifest(self):
        _, trace, manifest = self.traced(ranks=2)
        self.assert_rows_nest(trace)
        self.assert_sums_are_the_manifests(trace, manifest)
        self.assertEqual(set(rows(trace)), {0, 1, 2, 3})  # two workers, and their communication tasks
        self.assertEqual(trace["otherData"]["clock"], "wall")
        self.assertGreater(trace["otherData"]["clock_error_s"], 0)
        # Both took part in the same blocks: with one clock, theirs overlap.
        blocks = [[span for span in rows(trace)[row] if span[2] == "block"] for row in (0, 2)]
        self.assertEqual(len(blocks[0]), len(blocks[1]))
        slack = trace["otherData"]["clock_error_s"] * 1e12
        for (begin, end, _), (other_begin, other_end, _) in zip(*blocks):
            self.assertLess(max(begin, other_begin), min(end, other_end) + slack)

    def test_the_trace_of_workers_that_share_ranks_nests_and_adds_up_to_the_manifest(self):
        out = self.folder / "shared"
        weights(run("train", *self.task, "--workers", "5", "--strategy", "bmuf", "--timeline", "--out", str(out), ranks=2))
        trace, manifest = (json.loads((out / name).read_text()) for name in ("timeline.json", "manifest.json"))
        self.assert_rows_nest(trace)
        self.assert_sums_are_the_manifests(trace, manifest)
        blocks = [sum(span[2] == "block" for span in spans) for row, spans in sorted(rows(trace).items()) if row % 2 == 0]
        self.assertEqual(len(blocks), 5)
        self.assertEqual(len(set(blocks)), 1)

    def test_a_lone_worker_has_a_timeline_too(self):
        out = self.folder / "alone"
        weights(run("train", *self.task, "--timeline", "--out", str(out)))
        self.assertEqual(set(rows(json.loads((out / "timeline.json").read_text()))), {0})

    def test_a_timeline_changes_nothing_and_does_not_depend_on_host_threads(self):
        traces = []
        for threads in ("1", "2", "3"):
            result, _, manifest = self.traced("--host-threads", threads, workers=3)
            traces.append((self.folder / "run/timeline.json").read_bytes())
        self.assertEqual(len(set(traces)), 1)
        out = self.folder / "plain"
        plain = self.simulate(3, "--strategy", "data_parallel", *BUCKETS["data_parallel"], "--out", str(out))
        self.assertEqual(weights(plain), weights(result))
        untraced = json.loads((out / "manifest.json").read_text())
        self.assertEqual(untraced["result"], manifest["result"])
        self.assertEqual(untraced["simulation"], manifest["simulation"])

    def test_a_timeline_is_bounded_and_says_what_it_left_out(self):
        _, whole, _ = self.traced(workers=2)
        _, bounded, _ = self.traced("--timeline-events", "11", workers=2)
        kept, everything = rows(bounded), rows(whole)
        left_out = 0
        for row, spans in kept.items():
            self.assertEqual(len(spans), 11)
            self.assertLessEqual(set(spans), set(everything[row]))
            left_out += len(everything[row]) - 11
        sent = [sum(e["ph"] == "b" for e in trace["traceEvents"]) for trace in (whole, bounded)]
        self.assertEqual(bounded["otherData"]["dropped"], left_out + sent[0] - sent[1])
        self.assert_rows_nest(bounded)

    def test_a_timeline_says_that_it_does_without_fast_collectives(self):
        arguments = ["simulate", "--workers", 4, "--platform", PLATFORM, "--device", "meta", "--model", "8-12-6", "--train-samples", 600,
                     "--strategy", "data_parallel", "--epochs", 1, "--minibatch", 16]
        lines = run(*arguments, "--out", self.folder / "slow", "--timeline").stdout
        self.assertIn("collectives are simulated message by message", lines)
        plain = run(*arguments, "--out", self.folder / "fast").stdout
        self.assertNotIn("message by message", plain)

        def times(folder: str) -> list[float]:
            records = map(json.loads, (self.folder / folder / "metrics.jsonl").read_text().splitlines())
            return [record["time_s"] for record in records if "time_s" in record]

        self.assertEqual(times("slow"), times("fast"))

    def test_a_timeline_needs_a_folder(self):
        self.assert_refused(self.simulate(2, "--timeline"), "--timeline", "--out")

    def test_statistics_come_every_few_synchronisations_and_add_up(self):
        loud = [option for option in self.task if option != "--quiet"]
        pattern = re.compile(r"^synchronisation (\d+): compute ([\d.]+) % \(([\d.]+) to ([\d.]+)\), wait ([\d.]+) % .*, "
                             r"communicate ([\d.]+) % .* of [\d.]+\w+$", re.MULTILINE)
        for world in (["simulate", "--workers", "2", "--platform", PLATFORM], ["train"]):
            for strategy, every, count in (("data_parallel", 10, 6), ("bmuf", 3, 2)):  # 32 minibatches and 4 blocks an epoch
                with self.subTest(world=world[0], strategy=strategy):
                    options = ["--strategy", strategy, "--sync-stats", str(every)]
                    result = run(*world, *loud, *options, ranks=0 if world[0] == "simulate" else 2)
                    lines = pattern.findall(result.stdout)
                    self.assertEqual([int(line[0]) for line in lines], [every * (i + 1) for i in range(count)], result.stdout)
                    for _, compute, least, most, wait, communicate in lines:
                        self.assertLessEqual(float(least), float(compute) + 0.1)
                        self.assertLessEqual(float(compute), float(most) + 0.1)
                        self.assertLessEqual(float(compute) + float(wait) + float(communicate), 100.2)
                    plain = run(*world, *loud, "--strategy", strategy, ranks=0 if world[0] == "simulate" else 2)
                    self.assertEqual(weights(plain), weights(result))


if __name__ == "__main__":
    unittest.main()
