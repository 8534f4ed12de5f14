#!/usr/bin/env python3
"""The program, and gpu-check, on fake GPUs on the host (fake_cuda/gpu.hpp). Results do not depend on when a GPU executes
its work, are the same under MPI and in the simulator, and are close to the CPU's."""

import json
import math
import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "app"))

import check
from isolated_test import ASYNCHRONOUS, RECURRENT, SERVER, TRAININGS
from paragrad_cli import PLATFORM, PROGRAM, CliTest, run, weights


def gpus(settings: str) -> dict[str, str]:
    return {"env": os.environ | {"PARAGRAD_FAKE_GPU": settings}}


class FakeGpu(CliTest):
    def test_trainings_do_not_depend_on_when_the_gpu_computes(self):
        for strategy, variants in TRAININGS.items():
            for more in variants:
                with self.subTest(strategy=strategy, more=more):
                    options = ["--strategy", strategy, *more, "--device", "cuda"]
                    workers = 1 if strategy == "sgd" else 4
                    found = {weights(self.simulate(workers, *options, **gpus(f"order={order}"))) for order in ("late", "any")}
                    self.assertEqual(len(found), 1)

    def test_ranks_end_in_the_weights_of_the_simulator(self):
        for strategy, more in (("data_parallel", ["--overlap", "true", "--bucket-bytes", "300"]), ("bmuf", []),
                               ("data_parallel", ["--gradient-bits", "1"]), ("model_averaging", ["--collective", "hierarchical"])):
            with self.subTest(strategy=strategy, more=more):
                options = ["--strategy", strategy, *more, "--device", "cuda"]
                expected = weights(self.simulate(3, *options, **gpus("order=late")))
                self.assertEqual(weights(run("train", *self.task, *options, ranks=3, **gpus("gpus=2 order=any"))), expected)

    def test_nccl_adds_what_the_ranks_have(self):
        for strategy, more in (("data_parallel", ["--overlap", "true", "--bucket-bytes", "300"]), ("bmuf", [])):
            with self.subTest(strategy=strategy):
                options = [*self.task, "--strategy", strategy, *more, "--device", "cuda"]
                # The fake NCCL adds in rank order, like a parameter server.
                found = {weights(run("train", *options, "--collective", collective, ranks=3, **gpus("gpus=3 order=any")))
                         for collective in ("nccl", "parameter_server")}
                self.assertEqual(len(found), 1)

    def test_nccl_is_refused_where_it_cannot_be(self):
        nccl = ["--strategy", "bmuf", "--collective", "nccl"]
        for found, part in (
            (run("train", *self.task, *nccl, "--device", "cuda", ranks=2, **gpus("gpus=1")), "give each rank its own GPU"),
            (run("train", *self.task, *nccl, ranks=2), "the device is 'cpu'"),
            (self.simulate(2, *nccl, "--device", "cuda"), "among emulated workers it takes time and computes nothing"),
        ):
            self.assertEqual(found.returncode, 2, found.stderr)
            self.assertIn(part, found.stderr)

    def test_asynchronous_runs_do_not_depend_on_when_the_gpu_computes(self):
        for strategy in ASYNCHRONOUS:
            with self.subTest(strategy=strategy):
                options = ["--strategy", strategy, *(SERVER if strategy != "easgd" else SERVER[2:]), "--device", "cuda"]
                found = {weights(self.simulate(3, *options, **gpus(f"order={order}"))) for order in ("late", "any")}
                self.assertEqual(len(found), 1)

    def test_an_asynchronous_run_of_ranks_is_replayed_on_a_gpu(self):
        out = str(self.folder / "async")
        options = [*self.task, "--strategy", "async_sgd", *SERVER, "--device", "cuda"]
        ran = weights(run("train", *options, "--out", out, ranks=3, **gpus("gpus=2 order=any")))
        manifest = json.loads((Path(out) / "manifest.json").read_text())
        self.assertIn("a fake GPU on the host", manifest["host"]["device"])
        again = run("simulate", "--workers", 2, "--platform", PLATFORM, *options, "--replay", f"{out}/order.txt", **gpus("order=late"))
        self.assertEqual(weights(again), ran)

    def test_recurrent_models_do_not_depend_on_when_the_gpu_computes(self):
        for name, model in RECURRENT.items():
            with self.subTest(model=name):
                options = ["simulate", "--workers", 2, "--platform", PLATFORM, "--data", self.data, *model, "--learning-rate", "0.1",
                           "--epochs", "2", "--blocks", "2", "--minibatch", "4", "--quiet", "--strategy", "bmuf", "--device", "cuda"]
                found = {weights(run(*options, **gpus(f"order={order}"))) for order in ("late", "any")}
                self.assertEqual(len(found), 1)

    def test_convolutional_networks_do_not_depend_on_when_the_gpu_computes_and_are_close_to_the_cpu(self):
        images, net = self.folder / "images.h5", self.folder / "net.txt"
        made = run("data", "generate", "--out", images, "--samples", 160, "--valid", 20, "--test", 20, "--dim", 192, "--classes", 10)
        self.assertEqual(made.returncode, 0, made.stderr)
        net.write_text("input 8x8x3\na = convolution input outputs=16 bias=false\nb = batch_norm a\nr = relu b\n"
                       "c = convolution r outputs=16 groups=2 stride=2\ng = group_norm c groups=4\n"
                       "d = convolution g outputs=16 groups=16\ns = convolution d size=1 outputs=8\ny = affine s outputs=10\n")
        for model, more in (("zoo:resnet:depth=8,side=8", ["--strategy", "data_parallel", "--sync-batch-norm"]), (f"file:{net}", ["--strategy", "bmuf"])):
            with self.subTest(model=model):
                options = ["simulate", "--workers", 2, "--platform", PLATFORM, "--data", images, "--model", model, "--learning-rate", "0.01",
                           "--epochs", "1", "--minibatch", "16", "--quiet", *more]
                losses = {}
                for name, device, settings in (("cpu", "cpu", ""), ("late", "cuda", "order=late"), ("any", "cuda", "order=any")):
                    done = run(*options, "--device", device, "--out", self.folder / f"{name}-{more[1]}", **gpus(settings))
                    records = (self.folder / f"{name}-{more[1]}/metrics.jsonl").read_text().splitlines()
                    losses[name] = (weights(done), json.loads(records[0])["train_loss"])
                self.assertEqual(losses["late"], losses["any"])
                self.assertAlmostEqual(losses["any"][1], losses["cpu"][1], delta=1e-3 * losses["cpu"][1])

    def test_as_many_emulated_workers_fit_as_the_refusal_says(self):
        options = ["--strategy", "model_averaging", "--device", "cuda"]
        refused = self.simulate(8, *options, **gpus("megabytes=200"))
        self.assert_refused(refused, "more are needed", "emulated workers fit")
        fit = int(re.search(r"at most (\d+) emulated workers fit", refused.stderr).group(1))
        self.assertGreater(fit, 1)
        weights(self.simulate(fit, *options, **gpus("megabytes=200")))
        self.assert_refused(self.simulate(fit + 1, *options, **gpus("megabytes=200")), f"at most {fit} emulated workers fit")


class GpuCheck(CliTest):
    """Runs its tests only: measurements on a fake GPU would be meaningless."""

    def setUp(self):
        self.machine = check.Machine(Path(PROGRAM).parent)

    def test_its_trainings_pass(self):
        for test in check.trainings(self.machine, self.folder):
            self.assertTrue(test["passed"], test)

    def test_parts_that_were_not_asked_for_stay_in_the_report(self):
        report = self.folder / "gpu-report.json"
        report.write_text('{"figures": [{"precision": "of yesterday"}]}')
        done = subprocess.run([sys.executable, check.__file__, "--programs", Path(PROGRAM).parent, "--report", report, "--parts", "kernels"],
                              capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        found = json.loads(report.read_text())
        self.assertTrue(all(test["passed"] for test in found["kernels"]))
        self.assertEqual(found["figures"], [{"precision": "of yesterday"}])

    def test_it_finds_what_the_loop_waits_for(self):
        found = check.loop(self.machine, self.folder, "cuda", "1x64", 20, 8192, 128, 4)
        self.assertEqual(len(found), 5, found)
        for figure in found:  # differences of times, which mean nothing on a fake GPU and may be negative on a busy machine
            memory_without_a_card = figure["figure"].startswith("MiB") and figure["value"] is None
            self.assertTrue(memory_without_a_card or math.isfinite(figure["value"]), figure)


if __name__ == "__main__":
    unittest.main()
