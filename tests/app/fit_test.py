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


if __name__ == "__main__":
    unittest.main()
