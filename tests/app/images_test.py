#!/usr/bin/env python3
"""Convolutional networks end in the same weights in both worlds, in a timing run in the same time, and after an interruption."""

import itertools
import json
import re
import unittest

from paragrad_cli import PLATFORM, FolderTest, run, weights

MODEL, RESNET_20 = "zoo:resnet:depth=8,side=8", "zoo:resnet:depth=20,side=8"
STRATEGIES = {
    "data_parallel": [],
    "data_parallel in buckets": ["--bucket-bytes", "4000"],
    "data_parallel in one bit": ["--gradient-bits", "1"],
    "bmuf": [],
    "diloco": [],
}


class Images(FolderTest):
    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.data = str(cls.folder / "images.h5")
        made = run("data", "generate", "--out", cls.data, "--samples", 320, "--valid", 40, "--test", 40, "--dim", 192, "--classes", 10)
        assert made.returncode == 0, made.stderr

    def task(self, *more: str, minibatch: int = 16, model: str = MODEL) -> list[str]:
        return ["--data", self.data, "--model", model, "--learning-rate", "0.05", "--epochs", "2", "--blocks",
                "2", "--minibatch", str(minibatch), "--quiet", *more]

    def simulate(self, workers: int, *options: str):
        return run("simulate", "--workers", workers, "--platform", PLATFORM, *options)

    def test_residual_networks_end_in_the_same_weights_in_both_worlds(self):
        for name, more in STRATEGIES.items():
            for workers in (2, 4):
                with self.subTest(strategy=name, workers=workers):
                    options = self.task("--strategy", name.split()[0], *more, model=RESNET_20)
                    self.assertEqual(weights(self.simulate(workers, *options)), weights(run("train", *options, ranks=workers)))

    def test_images_changed_by_chance_are_the_same_in_both_worlds(self):
        augment = ("--augment-pad", "1", "--augment-flip", "--augment-cutout", "3", "--label-smoothing", "0.1", "--l2", "0.01",
                   "--l2-on", "weights", "--ema-decay", "0.5", "--shuffle")
        data = self.folder / "shaped.h5"
        self.cifar(self.folder / "cifar")
        made = run("data", "import-cifar", "--from", self.folder / "cifar", "--out", data, "--name", "tiny", "--valid", "50", "--normalise")
        self.assertEqual(made.returncode, 0, made.stderr)
        for (name, more), workers in zip(STRATEGIES.items(), itertools.cycle((2, 4))):
            with self.subTest(strategy=name, workers=workers):
                options = self.task("--strategy", name.split()[0], *more, model=RESNET_20)
                simulated = weights(self.simulate(workers, *options, *augment))
                self.assertEqual(simulated, weights(run("train", *options, *augment, ranks=workers)))
                self.assertNotEqual(simulated, weights(self.simulate(workers, *options)))
        options = ["--data", str(data), *self.task()[2:], "--augment-pad", "4"]
        options[options.index(MODEL)] = "zoo:resnet:depth=8"
        different = {weights(run("train", *options, *more)) for more in ((), ("--augment-flip",), ("--shuffle",), ("--seed", "2"))}
        self.assertEqual(len(different), 4)
        self.assertEqual(weights(run("train", *options)), weights(self.simulate(1, *options)))
        self.assert_refused(run("train", *options[:2], *self.task()[2:]), "8x8x3", "32x32x3")
        flat = self.task(*augment)
        flat[flat.index(MODEL)] = "192-10"
        self.assert_refused(run("train", *flat), "augment", "192")

    def cifar(self, folder, per_file: int = 40) -> None:
        """Writes six files of CIFAR-10's binary version: in the class's colour a gradient."""
        folder.mkdir(exist_ok=True)
        for number, name in enumerate([*(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin"]):
            records = b"".join(bytes([(number + i) % 10]) + bytes((c * 80 + p // 8 + 5 * ((number + i) % 10)) % 256 for c in range(3)
                                                                  for p in range(1024)) for i in range(per_file))
            (folder / name).write_bytes(records)
        (folder / "batches.meta.txt").write_text("".join(f"class{i}\n" for i in range(10)))

    def test_import_of_cifar(self):
        folder, out = self.folder / "cifar10", self.folder / "cifar10.h5"
        self.cifar(folder)
        made = run("data", "import-cifar", "--from", folder, "--out", out, "--name", "tiny", "--valid", "20")
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertIn("180 training, 20 validation, 40 test samples of 3072 features, 10 classes", made.stdout)
        self.assertEqual(run("data", "verify", out).returncode, 0)
        info = json.loads(run("data", "info", out).stdout)
        self.assertEqual(info["image"], {"height": 32, "width": 32, "channels": 3})
        self.assertEqual(info["class_names"][3], "class3")
        batch = folder / "data_batch_2.bin"
        whole = batch.read_bytes()
        for content, *words in ((whole[:-1], "truncated", "3073"), (b"", "truncated"), (b"\x0a" + whole[1:], "label 10", "record 1")):
            batch.write_bytes(content)
            self.assert_refused(run("data", "import-cifar", "--from", folder, "--out", self.folder / "none.h5", "--name", "x", "--valid", "20"),
                                "data_batch_2.bin", *words)
        batch.unlink()
        self.assert_refused(run("data", "import-cifar", "--from", folder, "--out", self.folder / "none.h5", "--name", "x"), "data_batch_2.bin")
        self.assertFalse((self.folder / "none.h5").exists())
        hundred = self.folder / "cifar100"
        hundred.mkdir()
        for name in ("train.bin", "test.bin"):
            (hundred / name).write_bytes(b"".join(bytes([i % 20, i % 100]) + bytes(3072) for i in range(100)))
        for labels, classes in (("fine", 100), ("coarse", 20)):
            made = run("data", "import-cifar", "--from", hundred, "--labels", labels, "--out", self.folder / "h.h5", "--name", "h", "--valid", "0")
            self.assertIn(f"{classes} classes", made.stdout)
        self.assert_refused(run("data", "import-cifar", "--from", hundred, "--out", self.folder / "h.h5", "--name", "h", "--valid", "9",
                                "--normalise"), "all features of the training set are the same")

    def test_statistics_of_whole_minibatches(self):
        losses = {}  # of the blocks' last minibatches, of one sample, most workers have nothing
        for name in ("data_parallel", "data_parallel in buckets", "data_parallel in one bit"):
            for workers in (2, 4):
                with self.subTest(strategy=name, workers=workers):
                    options = self.task("--strategy", "data_parallel", *STRATEGIES[name], "--sync-batch-norm", minibatch=53)
                    out = self.folder / f"synchronised-{workers}-{len(losses)}"
                    simulated = self.simulate(workers, *options, "--out", out)
                    self.assertEqual(weights(simulated), weights(run("train", *options, ranks=workers)))
                    losses[name, workers] = json.loads((out / "metrics.jsonl").read_text().splitlines()[0])["train_loss"]
        alone = self.folder / "synchronised-alone"
        result = run("train", *self.task(minibatch=53), "--out", alone)
        self.assertEqual(result.returncode, 0, result.stderr)
        expected = json.loads((alone / "metrics.jsonl").read_text().splitlines()[0])["train_loss"]
        for workers in (2, 4):
            self.assertAlmostEqual(losses["data_parallel", workers], expected, delta=1e-4 * expected)
        for option in ("tensor-parallel", "parallel-start-epoch"):
            self.assert_refused(self.simulate(2, *self.task("--strategy", "data_parallel", "--sync-batch-norm", f"--{option}", "2")),
                                f"--sync-batch-norm cannot be combined with --{option}: leave one out")
        times = [self.simulate(4, *self.task("--strategy", "data_parallel", "--sync-batch-norm", "--device", device, "--out",
                                             self.folder / f"synchronised-{device}")).returncode for device in ("cpu", "meta")]
        self.assertEqual(times, [0, 0])
        self.assertEqual(*(json.loads((self.folder / f"synchronised-{device}/manifest.json").read_text())["simulation"]["makespan_s"]
                           for device in ("cpu", "meta")))

    def test_statistics_that_nobody_shares_are_refused(self):
        for more, *words in ((("--strategy", "bmuf"), "sync-batch-norm", "bmuf"),
                             (("--strategy", "post_local_sgd"), "do not share all minibatches"),
                             (("--strategy", "async_sgd"), "do not share all minibatches"),
                             (("--strategy", "data_parallel", "--parallel-start-epoch", "2"), "parallel-start-epoch"),
                             (("--strategy", "data_parallel", "--model", "192-10"), "no batch normalisation")):
            with self.subTest(more=more):
                task = self.task()
                if "--model" in more:
                    task[task.index("--model"):task.index("--model") + 2] = []
                self.assert_refused(self.simulate(2, *task, *more, "--sync-batch-norm"), *words)

    def test_host_threads_do_not_change_a_bit(self):
        options = self.task("--strategy", "bmuf")
        self.assertEqual(len({weights(self.simulate(4, *options, "--host-threads", n)) for n in (1, 2)}), 1)

    def test_devices_agree_within_rounding(self):
        losses = []
        for device in ("cpu", "reference"):
            out = self.folder / device
            result = run("train", *self.task(), "--device", device, "--out", out)
            self.assertEqual(result.returncode, 0, result.stderr)
            losses.append(json.loads((out / "metrics.jsonl").read_text().splitlines()[0])["train_loss"])
        self.assertAlmostEqual(losses[0], losses[1], delta=1e-3 * losses[0])

    def test_a_timing_run_takes_the_simulated_time_of_the_run_that_computes(self):
        times = []
        for device in ("cpu", "meta"):
            result = self.simulate(4, *self.task("--strategy", "data_parallel", "--device", device, "--out", self.folder / f"timed-{device}"))
            self.assertEqual(result.returncode, 0, result.stderr)
            times.append(json.loads((self.folder / f"timed-{device}/manifest.json").read_text())["simulation"]["makespan_s"])
        self.assertEqual(times[0], times[1])

    def test_a_network_in_a_file_is_what_its_nodes_say(self):
        path, out = self.folder / "net.txt", self.folder / "from-file"
        path.write_text("network small  # of one filter\ninput 8x8x3\n\nc = convolution input outputs=4 bias=false\nn = batch_norm c\n"
                        "r = relu n\np = max_pool r size=2 stride=2\nq = mean_pool r stride=2\nj = concatenate p q\n"
                        "g = global_pool j\nd = dropout j p=0.1\ne = global_pool d\ns = add g e\ny = affine s outputs=10\n")
        task = self.task()
        task[task.index(MODEL)] = f"file:{path}"
        trained = run("train", *task, "--out", out)
        self.assertEqual(trained.returncode, 0, trained.stderr)
        self.assertEqual(weights(self.simulate(1, *task)), weights(trained))
        path.unlink()  # the run folder and the checkpoint have its text
        again = run("train", "--config", out / "config.toml", "--out", self.folder / "again")
        self.assertEqual(weights(again), weights(trained))
        scored = run("evaluate", out / "checkpoint.h5", "--data", self.data)
        self.assertIn(trained.stdout.split("test error ")[1].split(",")[0], scored.stdout)

    def test_nodes_that_say_nothing_sensible_are_refused(self):
        path = self.folder / "wrong.txt"
        for text, *words in (("", "describes no network"), ("y = relu input", "before the input"), ("input 0x4", "784"),
                             ("input 4", "no nodes"), ("input 4\ny = affine input", "outputs", "given"),
                             ("input 4\ny = affine input outputs=2 outputs=3", "twice"),
                             ("input 4\ny = affine input output=2", "has no 'output'", "outputs"),
                             ("input 4\ny = affine input outputs=-1", "outputs", "'-1'"),
                             ("input 4\ny = affine x outputs=2", "'x'"), ("input 4\ny = afine input", "afine", "affine"),
                             ("input 4\ny = add input", "needs 2 inputs"), ("input 4\ny relu input", "NAME = OPERATION"),
                             ("input 4x4x1\ny = convolution input outputs=2 size=9 zeros=0", "window of 9"),
                             ("input 4\ny = relu input\ny = relu input", "taken"),
                             ("input 4\na = relu input\ny = tanh input", "a (relu) does not lead"),
                             ("input 99999x99999x99999\ny = relu input", "size"), ("\0" * 300 + "input 4", "…")):
            with self.subTest(text=text[:40]):
                path.write_text(text)
                self.assert_refused(run("model", f"file:{path}"), *words)
        self.assert_refused(run("model", f"file:{self.folder / 'none.txt'}"), "none.txt")

    def test_the_network_that_fits_is_named(self):
        source, data = self.folder / "of-any-size", self.folder / "of-any-size.h5"
        self.cifar(source)
        run("data", "import-cifar", "--from", source, "--valid", 20, "--name", "tiny", "--out", data).check_returncode()
        with_model = lambda name: run("train", "--data", data, "--model", name, "--learning-rate", "0.1")
        for name, fitting in (("zoo:resnet:side=8", "zoo:resnet"), ("zoo:allconv:side=8,channels=1", "zoo:allconv"),
                              ("zoo:resnet:depth=8,classes=3", "zoo:resnet:depth=8"), ("zoo:resnet:side=8,classes=3", "zoo:resnet")):
            with self.subTest(model=name):
                self.assert_refused(with_model(name), f"; write {fitting}\n")
        for name in ("zoo:lenet5", "zoo:resnet50"):
            with self.subTest(model=name):
                self.assert_refused(with_model(name), "; zoo:allconv and zoo:resnet take images of any size\n")
        for name in re.findall(r"zoo:NAME: ([\w, ]+)", run("train", "--help").stdout)[0].split(", "):
            with self.subTest(model=name):
                right = "reads tokens" if name == "gpt" else f"'{name}' is a network of the zoo: write zoo:{name}\n"
                self.assert_refused(with_model(name), right)
        self.assert_refused(with_model("ResNet-50"), "write zoo:resnet50")

    def test_networks_that_do_not_fit_are_refused(self):
        task = self.task()
        model = task.index(MODEL)
        for name, *words in (("zoo:lenet5", "192", "784"), ("zoo:resnet:depth=9", "depth", "6n + 2"), ("zoo:resnet:side=3", "side", "4"),
                             ("zoo:resnet:depth", "KEY=VALUE"), ("zoo:resnet:sides=8", "sides", "side")):
            with self.subTest(model=name):
                self.assert_refused(run("train", *task[:model], name, *task[model + 1:]), *words)
        self.assert_refused(run("train", *task, "--micro-batch", "4"), "batch_norm")
        self.assert_refused(self.simulate(2, *task, "--strategy", "data_parallel", "--tensor-parallel", "2"), "cannot be split")


if __name__ == "__main__":
    unittest.main()
