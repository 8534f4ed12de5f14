#!/usr/bin/env python3
"""paragrad fit and scale: what they read and refuse, what they find, and the platform that is written."""

import itertools
import json
import math
import os
import random
import re
import unittest

from paragrad_cli import ROOT, CliTest, run
from plot_test import CAN_DRAW
from timeline_test import rows, seconds

PLATFORM = "p100-edr-nvlink"
NCCL = "a100-hdr-nvlink"
OPTIONS = "bucket-bytes,overlap"
VALUES = "25000000,true"
HEAD = f"model,workers,minibatch-per-worker,samples_per_s,{OPTIONS},use"
NETWORK = "64-32-8:relu"


def table(*rows: str, head: str = HEAD) -> str:
    return "\n".join([head, *rows]) + "\n"


def training(workers: int, rate: object, use: str = "fit", model: str = "zoo:resnet50") -> str:
    return f"{model},{workers},64,{rate},{VALUES},{use}"


RANK = "#  Rank {i:2} Group  0 Pid 1234{i} on node-{node} device  {device} [0x0{device}] NVIDIA A100"


def nccl_tests(workers: int, times: dict[int, float], reduction: str = "sum", share: float = 2) -> str:
    lines = ["# nThread 1 nGpus 1 minBytes 8 maxBytes 1073741824 step: 2(factor) warmup iters: 5 iters: 20"]
    lines += [RANK.format(i=i, node=i // 8, device=i % 8) for i in range(workers)]
    lines += ["#", "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong",
              "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)"]
    for size, time in times.items():
        rate = size / time / 1e3
        bus = rate * share * (workers - 1) / workers
        lines.append(f"{size:12} {size // 4:12}     float {reduction:>7}      -1 {time:8.1f} {rate:7.2f} {bus:7.2f}      0 {time:8.1f} {rate:7.2f} {bus:7.2f}      0")
    return "\n".join([*lines, "# Out of bounds values : 0 OK", "# Avg bus bandwidth    : 100", ""])


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


class Fit(CliTest):
    def file(self, text: str, name: str = "runs.csv"):
        path = self.folder / name
        path.write_text(text)
        return path

    def fit(self, text: str, *options: object, platform: object = PLATFORM, name: str = "runs.csv") -> dict:
        done = run("fit", self.file(text, name), "--platform", platform, "--format", "json", *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def refused(self, text: str, *parts: str, options=()) -> None:
        done = run("fit", self.file(text), "--platform", PLATFORM, *options, timeout=120)
        self.assert_refused(done, *parts)
        self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)

    def test_a_single_row_is_met_and_the_platform_then_predicts_it(self):
        out = self.folder / "fitted.toml"
        report = self.fit(table(training(1, 219)), "--out", out)
        self.assertAlmostEqual(report["rows"][0]["predicted_s"] * 219, 1, delta=0.005)
        self.assertEqual(report["rows"][0]["left_out_s"], 0)
        done = run("simulate", "--device", "meta", "--workers", 1, "--model", "zoo:resnet50", "--minibatch", 64, "--train-samples", 192, "--epochs",
                   1, "--blocks", 1, "--strategy", "data_parallel", "--platform", out, "--quiet")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertAlmostEqual(float(re.search(r"; ([\d.]+) samples/s", done.stdout)[1]), 219, delta=2)
        self.assertRegex(done.stdout, r"95 %: [\d.]+m?s to [\d.]+m?s, 80 %: ")

    def test_rows_that_simulate_made_are_met_and_those_left_out_predicted(self):
        real = self.folder / "real.toml"
        source = (ROOT / "sim/platforms" / f"{PLATFORM}.toml").read_text()
        real.write_text(source.replace('bandwidth = "12GBps"', 'bandwidth = "5GBps"') + '\n[program]\nstep_cost = "8ms"\noverlap = 0.4\n')

        def rate(workers: int) -> float:
            done = run("simulate", "--device", "meta", "--workers", workers, "--model", "zoo:resnet50", "--minibatch", 64 * workers, "--train-samples",
                       192 * workers, "--epochs", 1, "--blocks", 1, "--strategy", "data_parallel", "--bucket-bytes", 25000000, "--overlap",
                       "--device-rate", 230, "--platform", real, "--quiet")
            self.assertEqual(done.returncode, 0, done.stderr)
            return float(re.search(r"; ([\d.]+) samples/s", done.stdout)[1])

        report = self.fit(table(*[training(n, rate(n)) for n in (1, 8, 16)], training(32, rate(32), "predict")))
        *fitted, predicted = report["rows"]
        for row in fitted:
            self.assertAlmostEqual(row["predicted_s"] / row["measured_s"], 1, delta=0.03)
        self.assertAlmostEqual(predicted["predicted_s"] / predicted["measured_s"], 1, delta=0.05)
        self.assertLess(abs(math.log(predicted["predicted_s"] / predicted["measured_s"])), 2 * predicted["spread"])
        self.assertFalse(predicted["beyond"])

    def test_what_lies_across_a_level_names_what_nobody_has_measured(self):
        report = self.fit(table(training(1, 219), training(8, 1700), training(64, "", "predict")))
        across = report["rows"][2]
        self.assertTrue(across["beyond"])
        self.assertTrue(any(name.startswith("leaf.") for name in across["unmeasured"]), across)
        text = run("fit", self.folder / "runs.csv", "--platform", PLATFORM).stdout
        self.assertIn("nobody has measured ", text)
        self.assertIn("no row determines this: as in the platform", text)

    def test_nccl_tests_output_is_read_as_it_is(self):
        sizes = {size: 40 + size / 180e3 for size in (8192, 1 << 20, 1 << 24, 1 << 28)}
        for reduction, share, operation in (("sum", 2, "allreduce"), ("sum", 1, "reduce_scatter")):
            report = self.fit(nccl_tests(16, sizes, reduction, share), platform=NCCL, name="all.txt")
            self.assertEqual([row["what"].split(" of ")[0] for row in report["rows"]], [operation] * 4)
            for row in report["rows"]:
                self.assertLess(abs(math.log(row["predicted_s"] / row["measured_s"])), 0.25, row)
        named = self.fit(nccl_tests(8, sizes, "none", 1), "--operation", "all_gather", platform=NCCL, name="gather.txt")
        self.assertTrue(named["rows"][0]["what"].startswith("all_gather of "))
        self.refused(nccl_tests(8, sizes, "none", 1), "give it with --operation")
        self.refused(nccl_tests(1, sizes), "fewer than two ranks")
        self.refused(nccl_tests(8, {}), "has measured nothing")

    def test_collectives_on_a_fitted_platform_have_intervals(self):
        out = self.folder / "swept.toml"
        self.fit(nccl_tests(16, {size: 40 + size / 180e3 for size in (8192, 1 << 24, 1 << 28)}), "--out", out, platform=NCCL, name="swept.txt")
        done = run("collective", "--workers", "16,64", "--bytes", "1MB,64MB", "--collective", "nccl", "--platform", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(re.findall(r"\n  95 %: \S+ to \S+, 80 %: ", done.stdout)), 4)
        ring = run("collective", "--workers", 16, "--bytes", "64MB", "--collective", "ring", "--platform", out)
        self.assertRegex(ring.stdout, r"nobody has measured .*leaf\.bandwidth")
        broken = self.file(out.read_text().replace('names = ["', 'names = ["leaf.colour", "', 1).replace("covariance = [[", "covariance = [[0, ", 1), "broken.toml")
        self.assert_refused(run("platform", broken), "fit.")

    def test_two_files_are_one_fit(self):
        sizes = {size: 30 + size / 150e3 for size in (8192, 1 << 24, 1 << 28)}
        other = self.file(nccl_tests(16, sizes), "sizes.txt")
        rows = table("zoo:resnet50,1,64,400,nccl,fit", "zoo:resnet50,16,64,6000,nccl,fit", head="model,workers,minibatch-per-worker,samples_per_s,collective,use")
        report = self.fit(rows, other, platform=NCCL)
        self.assertEqual(len(report["rows"]), 5)
        self.assertIn("nccl.network_bandwidth_factor", [one["name"] for one in report["parameters"]])

    def test_repeated_measurements_are_one_row_and_contradictions_are_named(self):
        rows = table(training(1, 219), training(8, 1700), training(8, 1720), training(8, 600))
        done = run("fit", self.file(rows), "--platform", PLATFORM)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("runs.csv:3: 3 measurements of zoo:resnet50 on 8 differ by a factor of 2.87, and their median counts: they contradict each other",
                      done.stdout)
        equal = self.fit(table(training(1, 219), training(1, 219)))
        self.assertEqual(len(equal["rows"]), 1)

    def test_many_measurements_of_a_few_trainings_are_read_quickly(self):
        generator = random.Random(1)
        rows = [training(1, f"{219 * generator.uniform(0.9, 1.1):.3f}") for _ in range(100_000)]
        report = self.fit(table(*rows))
        self.assertAlmostEqual(report["rows"][0]["measured_s"] * 219, 1, delta=0.01)

    def test_bad_input_is_refused_in_one_sentence(self):
        for text, *parts in (
            ("", "is empty"),
            (table(), "names of columns, and no row"),
            ("a,b\n1,2\n", "neither a table with a column 'workers' nor the output of nccl-tests"),
            (table(training(1, "nan")), "line 2", "no number above 0"),
            (table(training(1, -5)), "line 2", "no number above 0"),
            (table(training(1, 0)), "line 2", "no number above 0"),
            (table(training(1, "inf")), "line 2", "outside"),
            (table(training(1, "fast")), "line 2", "'fast'"),
            (table(training(1, "")), "line 2", "nothing was measured"),
            (table(training(0, 219)), "workers is '0'"),
            (table(training(1, 219, "later")), "write fit or predict"),
            (table(training(1, 219, model="zoo:resnet51")), "line 2", "unknown zoo model"),
            (table(training(4, 219, "predict")), "no row to fit"),
            (table("zoo:resnet50,1,64"), "3 fields for 7 columns"),
            (table("zoo:resnet50,1,64,219,5,64", head="model,workers,minibatch,samples_per_s,s_per_step,epochs"), "not both"),
            (table("zoo:resnet50,1,64,64,219", head="model,workers,minibatch,minibatch-per-worker,samples_per_s"), "minibatch-per-worker"),
            (table("zoo:resnet50,1,219", head="model,workers,samples_per_s"), "minibatch"),
            (table("zoo:resnet50,1,64,219,1", head="model,workers,minibatch,samples_per_s,colour"), "line 2", "unknown option '--colour"),
            (table("zoo:resnet50,1,64,219,1000", head="model,workers,minibatch,samples_per_s,bytes"), "the gradients of zoo:resnet50 have"),
            (table("allreduce,8,1MB,5", head="operation,workers,bytes,time"), "line 2", "is not a time"),
            (table("allreduce,8,3B,5us", head="operation,workers,bytes,time"), "not a whole number of float32 values"),
            (table("scan,8,1MB,5us", head="operation,workers,bytes,time"), "unknown"),
            (table("allreduce,8,1MB,0s", head="operation,workers,bytes,time"), "not above 0"),
            (table("x,1,64,219,1", head="model,workers,workers,minibatch,samples_per_s"), "two columns 'workers'"),
            (table(training(1, 219) + ",extra"), "8 fields for 7 columns"),
            (table("allreduce,1,1MB,5us", head="operation,workers,bytes,time"), "takes no time"),
            (table(training(1, "1e-300")), "outside"),
            (table("zoo:resnet50,1,64,219,k40m-fdr", head="model,workers,minibatch,samples_per_s,platform"), "a row has no platform"),
            (table("zoo:resnet50,2,64,219,bmuf,nbm", head="model,workers,minibatch,samples_per_s,strategy,bmuf-kind"), "synchronises once per block"),
        ):
            with self.subTest(text=text[:80]):
                self.refused(text, *parts)
        self.assert_refused(run("fit", self.folder / "missing.csv", "--platform", PLATFORM), "missing.csv")

    def test_too_many_different_rows_are_refused(self):
        rows = [f"{NETWORK},1,{n},219" for n in range(1, 1100)]
        self.refused(table(*rows, head="model,workers,minibatch,samples_per_s"), "too many for a fit")

    def test_hostile_tables_end_in_a_fit_or_in_one_sentence(self):
        generator = random.Random(int(os.environ.get("PARAGRAD_SEED", "7")))
        good = table("allreduce,8,1MB,500us,fit", "allreduce,4,8MB,3ms,fit", head="operation,workers,bytes,time,use")
        pieces = [",", "\n", '"', "1e999", "-1", "nan", "0", "999999999999", "\0", "\r", ";", "'", "allreduce", "µs", "#", " ", "operation", "±"]
        for _ in range(120):
            text = good
            for _ in range(generator.randint(1, 4)):
                at = generator.randrange(len(text) + 1)
                text = text[:at] + generator.choice(pieces) * generator.choice((1, 1, 1, 50)) + text[at + generator.choice((0, 1, 5)) :]
            done = run("fit", self.file(text), "--platform", "ethernet-10g", timeout=60)
            self.assertIn(done.returncode, (0, 2), (text, done.stderr))
            self.assertNotRegex(done.stdout, r"\b(nan|inf)\b")
            if done.returncode == 2:
                self.assertEqual(len(done.stderr.strip().splitlines()), 1, (text, done.stderr))

    def test_a_slow_cluster_is_explained_in_one_sentence(self):
        def times(latency: float, bandwidth: float) -> str:
            return nccl_tests(16, {size: 45 * latency + size / 90e3 * bandwidth for size in (8192, 65536, 1 << 20, 1 << 26, 1 << 28)})

        healthy = self.file(times(1, 1), "healthy.txt")

        def sentence(latency: float, bandwidth: float, *against: object) -> str:
            done = run("fit", self.file(times(latency, bandwidth), "slow.txt"), "--platform", NCCL, "--explain", *against)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(len(done.stdout.splitlines()), 1)
            return done.stdout

        against = ("--healthy", healthy)
        for latency, bandwidth, words in ((2, 7, "another transport"), (0.9, 11, "another transport"), (1.5, 1.4, "another transport"), (1, 2, "4 of the 8 adapters"), (1, 8 / 3, "3 of the 8 adapters"),
                                          (3, 1, "the latency alone"), (1, 1, "nothing is wrong"), (1.1, 1.1, "nothing is wrong")):
            self.assertTrue(sentence(latency, bandwidth, *against).startswith(words), (latency, bandwidth, sentence(latency, bandwidth, *against)))
        self.assertTrue(sentence(20, 60).startswith("another transport"))
        steps = "model,workers,minibatch-per-worker,s_per_step,collective"
        slow = self.file(table("zoo:resnet50,16,32,0.065,nccl", head=steps), "steps.csv")
        good = self.file(table("zoo:resnet50,16,32,0.029,nccl", head=steps), "good-steps.csv")
        done = run("fit", slow, "--platform", NCCL, "--explain", "--healthy", good)
        self.assertIn("as over another transport", done.stdout)
        for hosts, sentence_begins in (({"b": 2}, "node b is slow"), ({"a": 2, "d": 1.5}, "some of the nodes a, d are slow"), ({}, "nothing")):
            pairs = [f"allreduce,16,64MB,{1000 * max(hosts.get(one, 1), hosts.get(two, 1))}us,nccl,{one} {two}"
                     for one, two in itertools.combinations("abcdef", 2)]
            done = run("fit", self.file(table(*pairs, head="operation,workers,bytes,time,collective,hosts"), "pairs.csv"), "--platform", NCCL,
                       "--explain")
            self.assertTrue(done.stdout.startswith(sentence_begins), (hosts, done.stdout, done.stderr))
        head = "operation,workers,bytes,time,collective,hosts"
        inside = [f"allreduce,8,64MB,500us,nccl,{one}" for one in "abcdef"]  # each node computes well alone
        pairs = [f"allreduce,16,64MB,{2000 if 'b' in (one, two) else 1000}us,nccl,{one} {two}" for one, two in itertools.combinations("abcdef", 2)]
        done = run("fit", self.file(table(*pairs, *inside, head=head), "all.csv"), "--platform", NCCL, "--explain")
        self.assertTrue(done.stdout.startswith("node b is slow"), (done.stdout, done.stderr))
        alone = [f"zoo:resnet50,8,32,{2 if host == 'c' else 1},nccl,{host}" for host in "abcdef"]
        done = run("fit", self.file(table(*alone, head=steps + ",hosts"), "alone.csv"), "--platform", NCCL, "--explain")
        self.assertTrue(done.stdout.startswith("node c is slow"), (done.stdout, done.stderr))
        for row, part in (("allreduce,16,64MB,1ms,nccl,a", "it has 1 hosts, and 16 workers need 2 nodes"),
                          ("allreduce,16,64MB,1ms,nccl,a b", "nothing to compare")):
            self.assert_refused(run("fit", self.file(table(row, head=head), "few.csv"), "--platform", NCCL, "--explain"), part)
        for slow_from, words in ((64, "a node that only the larger runs use is slow, or its link is: runs on up to 4 nodes"), (16, "as over"), (1000, "nothing")):
            runs = [table(*(f"zoo:resnet50,{n},32,{0.03 * (2 if slow and n >= slow_from else 1)},nccl" for n in (8, 16, 32, 64)), head=steps)
                    for slow in (True, False)]
            done = run("fit", self.file(runs[0], "some.csv"), "--platform", NCCL, "--explain", "--healthy", self.file(runs[1], "good.csv"))
            self.assertTrue(words in done.stdout, (slow_from, done.stdout, done.stderr))
        other = self.file(nccl_tests(8, {8192: 40, 1 << 26: 900}), "other.txt")
        self.assert_refused(run("fit", other, "--platform", NCCL, "--explain", *against), "nothing to compare")
        self.assert_refused(run("fit", healthy, "--platform", NCCL, *against), "--healthy")

    def test_an_existing_file_stays(self):
        out = self.folder / "there.toml"
        out.write_text("mine")
        self.assert_refused(run("fit", self.file(table(training(1, 219))), "--platform", PLATFORM, "--out", out), "exists")
        self.assertEqual(out.read_text(), "mine")

    def test_scale_shows_intervals_where_something_was_measured(self):
        fitted = self.folder / "scaled.toml"
        self.fit(table(training(1, 219), training(8, 1500)), "--out", fitted)
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
