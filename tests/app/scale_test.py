#!/usr/bin/env python3
"""paragrad scale: its intervals, the limits that it names, rates at two minibatches, its picture, and what it refuses."""

import json
import re
import unittest
from pathlib import Path

from fit_test import NETWORK, PLATFORM, table, training
from paragrad_cli import ROOT, CliTest, run
from plot_test import CAN_DRAW
from timeline_test import rows, seconds

ONE_LINK = """[cluster]
nodes = 8
devices_per_node = 1
[device]
peak = "1TFLOPs"
memory_bandwidth = "1000GBps"
gemm_efficiency = 1
memory_efficiency = 1
launch = "0us"
[peer]
latency = "1us"
bandwidth = "100GBps"
[leaf]
latency = "{latency}"
bandwidth = "{bandwidth}"
[message]
eager = "65536B"
[program]
step_cost = "{step}"
[noise]
rank_sigma = {sigma}
[storage]
client_bandwidth = "{client}"
read_bandwidth = "100GBps"
write_bandwidth = "100GBps"
"""


def longest_in(trace: dict, workers: int, rate: float, platform: str) -> str:
    """What most of the time of three steps of 32 samples goes to, by the spans and messages of a timeline."""
    names = {event["tid"]: event["args"]["name"] for event in trace["traceEvents"] if event["name"] == "thread_name"}
    own = [spans for tid, spans in sorted(rows(trace).items()) if names[tid].startswith("worker")]
    begun = {event["id"]: event for event in trace["traceEvents"] if event["ph"] == "b"}
    link = {key: parse(value) for key, value in re.findall(r'(bandwidth|step_cost) = "([\d.]+\w+)"', platform.partition("[leaf]")[2].partition("[storage]")[0])}
    wire = latency = 0.0
    for event in trace["traceEvents"]:
        if event["ph"] == "e":
            one = begun[event["id"]]
            sending = one["args"]["bytes"] / link["bandwidth"]
            wire, latency = wire + sending, latency + max(0.0, (event["ts"] - one["ts"]) * 1e-6 - sending)
    steps = 3
    computing = max(seconds(spans, "compute") for spans in own) - steps * link["step_cost"]
    undisturbed = steps * 32 / rate
    waiting = max(seconds(spans, "wait") for spans in own)
    parts = {"compute": min(computing, undisturbed), "stragglers": max(0.0, computing - undisturbed), "step cost": steps * link["step_cost"],
             "storage": max(seconds(spans, "data wait") for spans in own)}
    messages = max(0.0, waiting - parts["stragglers"])  # the others wait for the slowest
    parts |= {"wire": messages * wire / (wire + latency or 1), "latency": messages * latency / (wire + latency or 1)}
    return max(parts, key=parts.get)


def parse(quantity: str) -> float:
    number, unit = re.fullmatch(r"([\d.]+)(\w+)", quantity).groups()
    return float(number) * {"us": 1e-6, "ms": 1e-3, "s": 1, "MBps": 1e6, "GBps": 1e9}[unit]


class Scale(CliTest):
    def file(self, text: str, name: str) -> Path:
        path = self.folder / name
        path.write_text(text)
        return path

    def test_scale_shows_intervals_where_something_was_measured(self):
        fitted = self.folder / "scaled.toml"
        done = run("fit", self.file(table(training(1, 219), training(8, 1500)), "runs.csv"), "--platform", PLATFORM, "--out", fitted)
        self.assertEqual(done.returncode, 0, done.stderr)
        options = ["--model", "zoo:resnet50", "--minibatch-per-worker", 64, "--bucket-bytes", 25000000, "--overlap", "--workers", "1..32"]
        done = run("scale", *options, "--platform", fitted)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("nobody has measured", done.stdout)
        self.assertRegex(done.stdout, r"a run on 16 workers \(2 nodes\) would narrow the interval of 32 most: ± \d+ % becomes ± \d+ %")
        rows = json.loads(run("scale", *options, "--platform", fitted, "--format", "json").stdout)
        self.assertEqual([row["workers"] for row in rows], [1, 2, 4, 8, 16, 32])
        self.assertLess(rows[3]["spread"], rows[5]["spread"])
        self.assertTrue(rows[5]["beyond"] and not rows[3]["beyond"])
        plain = run("scale", *options, "--platform", PLATFORM, "--device-rate", 219)
        self.assertIn("nothing was measured on this platform", plain.stdout)

    def test_the_limit_that_scale_names_is_what_a_timeline_shows(self):
        small, medium, large = "64-32-8:relu", "512-512-10:relu", "1024-1024-1024:relu"
        cases = {
            "compute": [({}, {}, 2, small), ({"bandwidth": "1GBps"}, {}, 4, medium), ({"step": "1ms"}, {"device-rate": 100}, 8, large)],
            "step cost": [({"step": "1s"}, {}, 1, small), ({"step": "200ms"}, {}, 4, medium), ({"step": "5s"}, {"device-rate": 100}, 3, small)],
            "wire": [({"bandwidth": "5MBps"}, {}, 4, medium), ({"bandwidth": "20MBps"}, {"collective": "binomial"}, 3, large),
                     ({"bandwidth": "1MBps"}, {"device-rate": 100000}, 8, small)],
            "latency": [({"latency": "50ms"}, {}, 4, small), ({"latency": "1s"}, {"collective": "butterfly"}, 8, medium),
                        ({"latency": "500us"}, {"device-rate": 100000}, 2, small)],
            "storage": [({"client": "10MBps"}, {}, 2, small), ({"client": "1MBps"}, {}, 4, medium), ({"client": "20MBps", "step": "1ms"}, {}, 1, large)],
            "stragglers": [({"sigma": 1.5}, {}, 8, small), ({"sigma": 1.9}, {}, 4, medium), ({"sigma": 1.8}, {"device-rate": 100}, 6, small)]}
        for kind, some in cases.items():
            for own, options, workers, model in some:
                text = ONE_LINK.format(**{"latency": "1us", "bandwidth": "100GBps", "step": "0us", "client": "100GBps", "sigma": 0} | own)
                chosen = {"device-rate": 1000, "collective": "ring"} | options
                words = ["--platform", self.file(text, "limited.toml"), "--model", model, *(f"--{name}={value}" for name, value in chosen.items())]
                words += ["--io", "blocking", "--sample-bytes", 100_000] if kind == "storage" else []
                with self.subTest(kind=kind, own=own, workers=workers):
                    named = json.loads(run("scale", *words, "--minibatch-per-worker", 32, "--workers", workers, "--format", "json").stdout)
                    self.assertEqual(named[0]["limit"], kind)
                    out = self.folder / "timed"
                    timed = run("simulate", *words, "--device", "meta", "--strategy", "data_parallel", "--workers", workers, "--minibatch", 32 * workers,
                                "--train-samples", 96 * workers, "--epochs", 1, "--blocks", 1, "--timeline", "--out", out, "--overwrite", "--quiet")
                    self.assertEqual(timed.returncode, 0, timed.stderr)
                    self.assertEqual(longest_in(json.loads((out / "timeline.json").read_text()), workers, float(chosen["device-rate"]), text), kind)

    def test_a_rate_at_two_minibatches_tells_what_a_step_costs(self):
        def rate(minibatch: int, given: str) -> float:
            done = run("scale", "--model", "zoo:resnet50", "--platform", PLATFORM, "--minibatch-per-worker", minibatch, "--device-rate", given,
                       "--workers", 1, "--format", "json")
            self.assertEqual(done.returncode, 0, done.stderr)
            return json.loads(done.stdout)[0]["samples_per_s"]

        for given in ("100@16,200@64", "200@64,100@16"):
            self.assertAlmostEqual(rate(16, given), 100, delta=0.1)
            self.assertAlmostEqual(rate(64, given), 200, delta=0.2)
            self.assertAlmostEqual(rate(32, given), 32 / (0.16 + 0.16 / 3), delta=0.2)
        self.assertAlmostEqual(rate(64, "300@50,300@256"), 300, delta=0.3)
        for given, part in (("200@16,100@64", "the larger minibatch has the lower rate"), ("100@16,900@64", "the larger minibatch cannot take less time"),
                            ("100,200@64", "lacks the minibatch"), ("100@16,200@16", "the same minibatch"), ("100@16", "neither one rate"),
                            ("100@16.5,200@64", "16.5"), ("100@0,200@64", "'0'"), ("nan@16,200@64", "nan"), ("1@2,3@4,5@6", "neither one rate")):
            self.assert_refused(run("scale", "--model", NETWORK, "--platform", PLATFORM, "--minibatch-per-worker", 8, "--device-rate", given), part)
        config = self.file('device-rate = ["100@16", "200@64"]\n', "rate.toml")
        out = self.folder / "two-rates"
        done = run("simulate", "--config", config, "--device", "meta", "--model", NETWORK, "--platform", PLATFORM, "--train-samples", 640, "--minibatch",
                   64, "--strategy", "sgd", "--epochs", 1, "--out", out)
        self.assertIn("each step costs 106.7ms more", done.stdout)
        self.assertAlmostEqual(json.loads((out / "manifest.json").read_text())["run"]["step_cost_s"], 0.16 - 0.16 / 3, places=9)

    @unittest.skipUnless(CAN_DRAW, "needs a Python with matplotlib")
    def test_scale_draws_what_it_prints(self):
        out = self.folder / "scale.svg"
        options = ["--model", NETWORK, "--platform", PLATFORM, "--minibatch-per-worker", 8, "--workers", "1..16", "--out", out]
        plain = run("scale", *options)
        self.assertEqual((plain.returncode, plain.stderr.strip()), (0, str(out)))
        picture = out.read_text()
        limits = {line.split("  ")[-1].rsplit(" (", 1)[0] for line in plain.stdout.splitlines()[1:6]}
        for name in ("curve-predicted", "ideal", *(f"limited-by-{limit.replace(' ', '-')}" for limit in limits)):
            self.assertIn(f'id="{name}"', picture)
        done = run("scale", *options, "--format", "json")
        self.assertEqual([row["workers"] for row in json.loads(done.stdout)], [1, 2, 4, 8, 16])
        self.assertEqual(out.read_text(), picture)

    def test_scale_tells_cost_and_memory(self):
        source = (ROOT / "sim/platforms" / f"{PLATFORM}.toml").read_text()
        priced = self.file(source.replace('launch = "5us"', 'launch = "5us"\nmemory = "1GB"\nprice_per_hour = 3.6', 1), "priced.toml")
        done = run("scale", "--model", "zoo:resnet50", "--minibatch-per-worker", 64, "--device-rate", 200, "--workers", "1,2", "--train-samples",
                   1_000_000, "--platform", priced)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout.splitlines()[1], r" 5(\.0\d*)?  compute")
        self.assertIn("does not fit", done.stdout)

    def test_scale_refuses_what_it_cannot_do(self):
        options = ["--model", NETWORK, "--platform", PLATFORM]
        for more, part in ((["--workers", "8..x"], "neither a list of numbers"), (["--workers", "0"], "neither"), (["--workers", "9..8"], "holds no number"),
                           (["--out", "runs/x"], "--out"), (["--strategy", "bmuf", "--bmuf-kind", "nbm"], "synchronises once per block")):
            self.assert_refused(run("scale", *options, *more), part)


if __name__ == "__main__":
    unittest.main()
