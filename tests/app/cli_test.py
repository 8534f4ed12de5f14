#!/usr/bin/env python3
"""The command line: what a user types, reads and gets wrong."""

import gzip
import json
import os
import re
import shutil
import struct
import subprocess
import unittest
from pathlib import Path

from paragrad_cli import MPIEXEC, PLATFORM, PROGRAM, CliTest, run, weights


class Version(unittest.TestCase):
    def test_program_citation_and_changelog_agree(self):
        root = Path(__file__).parents[2]
        program = re.match(r"paragrad ([0-9.]+) ", run("--version").stdout)[1]
        self.assertEqual(re.search(r"^version: (.+)$", (root / "CITATION.cff").read_text(), re.MULTILINE)[1], program)
        self.assertEqual(re.search(r"^## \[([0-9.]+)\]", (root / "CHANGELOG.md").read_text(), re.MULTILINE)[1], program)


class Runs(CliTest):
    def test_subsets_without_samples_have_no_scores(self):
        out, data = self.folder / "no-scores", self.without_validation()
        task = [str(data) if word == self.data else word for word in self.task if word != "--quiet"]
        done = run("train", *task, "--out", out)
        self.assertIn("test error -, loss -; validation error -\n", done.stdout)
        self.assertNotIn("nan", done.stdout)
        self.assert_refused(run("evaluate", out / "checkpoint.h5", "--data", data), "has no samples in the subset 'test'")
        self.assertIn("error", run("evaluate", out / "checkpoint.h5", "--data", data, "--subset", "train").stdout)

    def test_evaluate_finds_the_error_that_training_found(self):
        out = self.folder / "evaluated"
        printed = run("train", *self.task, "--out", out).stdout
        again = run("evaluate", out / "checkpoint.h5", "--data", self.data).stdout
        self.assertIn(printed.split("test error ")[1].split(",")[0], again)

    def test_evaluate_says_where_it_cannot_run(self):
        out = self.folder / "where"
        run("train", *self.task, "--out", out)
        command = ["evaluate", out / "checkpoint.h5", "--data", self.data]
        self.assert_refused(run(*command, "--workers", 2), "--workers", "--platform")
        self.assert_refused(run(*command, "--device", "meta"), "'meta' counts work but computes nothing")
        self.assert_refused(run(*command, "--workers", 2, "--platform", PLATFORM, "--device", "meta"), "'meta'")
        if MPIEXEC:
            self.assert_refused(run(*command, "--platform", PLATFORM, ranks=2), "--platform", "under mpiexec")

    @unittest.skipUnless(MPIEXEC, "no MPI")
    def test_what_every_rank_would_say_is_said_once(self):
        for words, part in ((["train", "--bogus", 3], "--bogus"), (["train", "--epochs", -1], "--epochs"), (["nothing"], "nothing"),
                            (["collective", "--network", "analytic"], "--network"), (["train", "--config", "none.toml"], "none.toml")):
            with self.subTest(words=words):
                self.assert_refused(run(*words, ranks=4), part)

    def test_progress_is_plain_lines_where_there_is_no_terminal(self):
        result = run("train", *[a for a in self.task if a != "--quiet"])
        self.assertNotIn("\r", result.stdout)
        self.assertEqual(sum(line.startswith("epoch") for line in result.stdout.splitlines()), 2)

    def test_simulated_time_does_not_depend_on_host_threads(self):
        outputs = {self.simulate(4, "--strategy", "bmuf", "--host-threads", n).stdout for n in (1, 2, 4)}
        self.assertEqual(len(outputs), 1)

    def test_a_timing_run_says_what_it_is(self):
        out = self.folder / "timed"
        result = run("simulate", "--device", "meta", "--workers", 64, "--platform", PLATFORM, "--model", "440-7x2048-18002:relu",
                     "--train-samples", 10**9, "--blocks", 1000, "--max-blocks", 2, "--max-steps", 3, "--epochs", 1,
                     "--minibatch", 256, "--strategy", "bmuf", "--out", out)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("timing only", result.stdout)
        self.assertIn("the first 2 blocks", result.stdout)
        self.assertIn("the first 3 minibatches", result.stdout)
        self.assertNotIn("weights", result.stdout)
        self.assertEqual({p.name for p in out.iterdir()}, {"config.toml", "manifest.json", "metrics.jsonl"})
        records = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
        for record in records:
            for key in ("train_loss", "valid_error"):
                self.assertIsNone(record[key])
        self.assertIsNone(records[-1]["parameters_sha256"])
        self.assertEqual(records[-1]["samples"], 64 * 2 * 3 * 256)
        self.assertTrue(json.loads((out / "manifest.json").read_text())["run"]["timing_only"])
        again = run("simulate", "--config", out / "config.toml", "--out", self.folder / "timed-again")
        self.assertEqual(again.stdout.replace("timed-again", "timed"), result.stdout)
        compared = run("compare", out, self.folder / "timed-again")
        self.assertEqual(compared.returncode, 0, compared.stderr)
        self.assertEqual(compared.stdout.splitlines()[1].split()[-1], "-")

    def test_the_rate_of_a_device_may_be_given(self):
        def samples_per_s(workers, *options):
            result = run("simulate", "--device", "meta", "--workers", workers, "--platform", PLATFORM, "--model", "zoo:resnet50",
                         "--train-samples", 10**6, "--blocks", 1, "--max-steps", 2, "--epochs", 1, "--minibatch", 64 * workers,
                         "--strategy", "data_parallel", *options)
            self.assertEqual(result.returncode, 0, result.stderr)
            return float(re.search(r"; (\d+) samples/s", result.stdout).group(1)), result.stdout

        rate, printed = samples_per_s(1, "--device-rate", "219.0")
        self.assertEqual(rate, 219)
        self.assertIn("219 samples/s: given, not predicted", printed)
        self.assertNotIn("given", samples_per_s(1)[1])
        faster, _ = samples_per_s(4, "--device-rate", "438")
        slower, _ = samples_per_s(4, "--device-rate", "219")
        self.assertTrue(3.5 * 219 < slower < 4 * 219, slower)
        self.assertTrue(1.7 * slower < faster < 2 * slower, faster)

    @unittest.skipIf(os.environ.get("PARAGRAD_SANITIZED"), "sanitizers take memory of their own")
    def test_memory_of_emulated_workers_is_bounded(self):
        workers, model_bytes = 12, 4 * (8 * 2048 + 2048 * 2048 + 2048 * 6 + 2048 + 2048 + 6)
        for strategy in ("data_parallel", "model_averaging", "bmuf"):
            out = self.folder / f"memory-{strategy}"
            weights(run("simulate", "--workers", workers, "--platform", PLATFORM, "--data", self.data, "--strategy", strategy,
                        "--model", "8-2048-2048-6:relu", "--learning-rate", "0.001", "--epochs", 1, "--blocks", 1,
                        "--minibatch", 96, "--quiet", "--out", out))
            peak = json.loads((out / "manifest.json").read_text())["finished"]["peak_memory_bytes"]
            with self.subTest(strategy=strategy, per_worker=(peak - 200e6) / workers / model_bytes):
                self.assertLess(peak, workers * 3.2 * model_bytes + Path(self.data).stat().st_size + 200e6)

    def test_a_worker_that_dies_on_a_platform_ends_the_run_by_name(self):
        platform = self.folder / "mortal.toml"
        platform.write_text(Path(PLATFORM).read_text() +
                            '[[fault]]\nat = "1ms"\nkind = "worker"\nid = 2\nfactor = 0\n')
        result = run("simulate", "--workers", 4, "--platform", platform, *self.task, "--strategy", "data_parallel")
        self.assertEqual(result.returncode, 3, result.stderr)
        for part in ("worker 2 died at 1ms", "waits for", "worker 2"):
            self.assertIn(part, result.stderr)
        self.assertIn("worker 2 stops at 1ms", run("platform", platform).stdout)

    def test_more_workers_than_devices_share_them_on_demand(self):
        platform = self.folder / "small.toml"
        text = Path(PLATFORM).read_text()
        text = re.sub(r"devices_per_node = \d+", "devices_per_node = 1", text)
        platform.write_text(re.sub(r"\nnodes = \d+", "\nnodes = 2", text))
        arguments = ("simulate", "--workers", 5, "--platform", platform, *self.task, "--strategy", "model_averaging")
        refused = run(*arguments)
        self.assertEqual(refused.returncode, 2)
        for part in ("small.toml", "cluster.nodes", "--oversubscribe", "2 devices"):
            self.assertIn(part, refused.stderr)
        shared = run(*arguments, "--oversubscribe", "--out", self.folder / "shared")
        self.assertEqual(weights(shared), weights(self.simulate(5, "--strategy", "model_averaging")))

    def test_a_platform_is_described(self):
        self.assertIn("288GBps", run("platform", PLATFORM).stdout)


class Mistakes(CliTest):
    def test_options(self):
        for arguments, parts in (
            (["--strategy", "bmfu"], ["unknown strategy 'bmfu'", "model_averaging"]),
            (["--strategy", "bmuf", "--collective", "rign"], ["'rign'", "ring"]),
            (["--model", "8-x-6"], ["8-x-6"]),
            (["--model", "zoo:resnet50"], ["zoo:resnet50", "150528"]),
            (["--model", "zoo:resnett"], ["'resnett'", "resnet50"]),
            (["--model", "784-10"], ["784 inputs", "8 features"]),
            (["--optimiser", "rprop"], ["rprop", "adamw"]),
            (["--schedule", "triangle"], ["triangle", "cosine"]),
            (["--momentum", "1.5"], ["--momentum", "'1.5'"]),
            (["--block-momentum", "lots", "--strategy", "bmuf"], ["lots"]),
            (["--loss", "hinge"], ["hinge"]),
            (["--device", "tpu"], ["tpu"]),
            (["--train-samples", "600"], ["--train-samples", "--device meta", "--data"]),
            (["--device", "meta", "--train-samples", "600"], ["either --data or --train-samples"]),
            (["--device", "meta", "--schedule", "newbob"], ["newbob", "validation loss"]),
            (["--device", "meta", "--auto-minibatch", "true"], ["--auto-minibatch", "loss"]),
            (["--strategy", "data_parallel", "--gradient-bits", "3"], ["3 bits"]),
            (["--strategy", "data_parallel", "--gradient-bits", "1", "--compression", "fp16"], ["give one of them"]),
            (["--strategy", "data_parallel", "--compression", "zip"], ["zip", "power_sgd:RANK"]),
            (["--minibatch-error-margin", "-1"], ["margin"]),
            (["--momentum-time-constant", "-1"], ["--momentum-time-constant", "'-1'"]),
            (["--device-rate", "100", "--minibatch", "0"], ["--device-rate", "--minibatch"]),
            (["--nodes", "8"], ["--nodes 8", "k40m-fdr.toml", "16"]),
            (["--devices-per-node", "5"], ["--devices-per-node 5", "k40m-fdr.toml", "4 devices"]),
            (["--io", "mmap"], ["'mmap'", "prefetch"]),
            (["--device-rate", "-3"], ["--device-rate"]),
            (["--max-steps", "1"], ["--max-steps", "--device meta"]),
            (["--device", "cpu:tf32"], ["cpu takes no parameter"]),
            (["--learning-rate-per", "day"], ["day"]),
            (["--epochs", "0"], ["epochs"]),
            (["--learning-rate", "0"], ["--learning-rate: '0' is not a number above 0"]),
            (["--sweps", "3"], ["--sweps"]),
            (["--blocks", "501"], ["501"]),
            (["--data", "nowhere.h5"], ["nowhere.h5"]),
            (["--init", "nowhere.h5"], ["nowhere.h5"]),
            (["--init", self.data], ["not a Paragrad checkpoint"]),
            (["--out", "/proc/forbidden"], ["/proc/forbidden"]),
            (["--strategy", "sgd", "--workers", "2"], ["one worker, not 2"]),
            (["--workers", "65"], ["64 devices", "65 workers"]),
            (["--platform", self.data], ["task.h5"]),
            (["--network", "magic"], ["magic"]),
        ):
            with self.subTest(arguments=arguments):
                base = self.task
                for option in arguments[::2]:  # options may stand once only
                    if option in base:
                        at = base.index(option)
                        base = base[:at] + base[at + 2 :]
                if "--workers" not in arguments:
                    base = [*base, "--workers", "1"]
                if "--platform" not in arguments:
                    base = [*base, "--platform", PLATFORM]
                self.assert_refused(run("simulate", *base, *arguments), *parts)

    def test_timing_needs_sizes_and_training_needs_data(self):
        task = ["--model", "8-6", "--platform", PLATFORM]
        self.assert_refused(run("simulate", *task, "--device", "meta"), "--train-samples")
        self.assert_refused(run("simulate", *task, "--device", "meta", "--train-samples", -1), "--train-samples")
        self.assert_refused(run("simulate", *task), "--data")
        self.assert_refused(run("simulate", *task, "--data", self.data), "--learning-rate")
        self.assert_refused(run("train", "--model", "8-6", "--learning-rate", 1), "--data")
        self.assert_refused(run("train", *self.task, "--device", "meta"), "'meta'", "paragrad simulate")

    def test_reading_needs_a_file_system(self):
        path = self.folder / "diskless.toml"
        path.write_text(Path(PLATFORM).read_text().split("[storage]")[0])
        self.assert_refused(run("simulate", *self.task, "--platform", path, "--io", "blocking"), "[storage]", "diskless.toml")

    def test_unknown_key_in_the_file(self):
        path = self.folder / "wrong.toml"
        path.write_text('learning-rate = 0.1\nlearning_rat = 0.2\n')
        self.assert_refused(run("train", "--config", path, "--data", self.data, "--model", "8-6"), "learning_rat")
        self.assert_refused(run("train", "--config", self.folder / "none.toml", *self.task), "none.toml")

    def test_commands(self):
        self.assert_refused(run("trian"), "unknown command 'trian'", "train")
        self.assert_refused(run("data"), "data")
        self.assert_refused(run("data", "exprot"), "exprot")
        self.assert_refused(run("compare", self.folder), "manifest.json")
        self.assert_refused(run("evaluate", self.data, "--data", self.data), "not a Paragrad checkpoint")
        self.assert_refused(run("evaluate", self.data, "--data", self.data, "--subset", "trian"), "")

    def test_a_loss_that_is_no_number_keeps_the_last_good_checkpoint(self):
        out = self.folder / "nan"
        options = [a for a in self.task if a not in ("--learning-rate", "0.1", "--model", "8-12-6:sigmoid")]
        options += ["--model", "8-12-6:relu", "--learning-rate", "1e20"]
        for launch in (dict(), dict(ranks=2)):
            result = run("train", *options, "--out", out, "--overwrite", "--strategy", "bmuf", **launch)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn("worker", result.stderr)
            self.assertIn("epoch 1", result.stderr)
        self.assertFalse((out / "checkpoint.h5").exists())

    def test_errors_of_all_ranks_are_told_once(self):
        result = run("train", "--data", "nowhere.h5", "--model", "8-6", "--learning-rate", "1", ranks=3)
        self.assertEqual(result.returncode, 2)
        self.assertEqual(result.stderr.count("nowhere.h5"), 1, result.stderr)


def can_mount() -> bool:
    """As root, and not in a container that forbids it."""
    return bool(shutil.which("unshare")) and subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode == 0


class Files(CliTest):
    def idx(self, name: str, shape: list[int], content: bytes) -> Path:
        path = self.folder / name
        path.write_bytes(struct.pack(f">BBBB{len(shape)}I", 0, 0, 8, len(shape), *shape) + content)
        return path

    def import_idx(self, images: Path, labels: Path, *more: str):
        return run("data", "import-idx", "--train-images", images, "--train-labels", labels, "--test-images", images,
                   "--test-labels", labels, "--valid", 1, "--name", "x", "--out", self.folder / "x.h5", *more)

    def test_idx_files(self):
        images = self.idx("images", [4, 2, 2], bytes(range(16)))
        labels = self.idx("labels", [4], bytes([0, 1, 2, 1]))
        self.assertEqual(self.import_idx(images, labels).returncode, 0)
        self.assertEqual(run("data", "verify", self.folder / "x.h5").returncode, 0)
        short = self.folder / "short"
        short.write_bytes(images.read_bytes()[:-3])
        squeezed = self.folder / "squeezed.gz"
        squeezed.write_bytes(gzip.compress(images.read_bytes())[:-5])
        for wrong, parts in ((short, "short"), (squeezed, "squeezed.gz"), (labels, "labels"), (Path("none"), "none"),
                             (Path(self.data), "task.h5")):
            self.assert_refused(self.import_idx(wrong, labels), parts)
        self.assert_refused(self.import_idx(images, self.idx("few", [3], bytes(3))), "few")
        self.assert_refused(self.import_idx(images, labels, "--classes", "2"), "label")

    def test_damaged_and_foreign_data_files(self):
        whole = Path(self.data).read_bytes()
        cut = self.folder / "cut.h5"
        for length in (0, 100, 2000, len(whole) // 2, len(whole) - 50):
            cut.write_bytes(whole[:length])
            self.assert_refused(run("train", "--data", cut, "--model", "8-6", "--learning-rate", "1"), "cut.h5")
        text = self.folder / "text.h5"
        text.write_text("not HDF5")
        self.assert_refused(run("data", "info", text), "text.h5")
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        for command in (["data", "info", pipe], ["data", "verify", pipe], ["evaluate", pipe, "--data", self.data],
                        ["train", "--data", pipe, "--model", "8-6", "--learning-rate", "1"]):
            self.assert_refused(run(*command), "pipe", "not a regular file")
        self.assert_refused(run("data", "generate", "--out", pipe), "pipe", "not a regular file")
        self.assertTrue(pipe.is_fifo())

    def test_partitions(self):
        path = self.folder / "partitioned.h5"
        shutil.copy(self.data, path)
        self.assertEqual(run("data", "partition", path, "--workers", 3, "--blocks", 4).returncode, 0)
        self.assertEqual(run("data", "verify", path).returncode, 0)
        self.assert_refused(run("data", "partition", path, "--workers", 3, "--blocks", 4), "3x4")
        self.assert_refused(run("data", "partition", path, "--workers", 100, "--blocks", 100), "500")
        with_stored = run("simulate", "--workers", 3, "--platform", PLATFORM, "--strategy", "bmuf",
                          *[str(path) if a == self.data else a for a in self.task])
        self.assertEqual(weights(with_stored), weights(self.simulate(3, "--strategy", "bmuf")))

    def test_partitions_of_utterances(self):
        path = self.folder / "utterances.h5"
        shutil.copy(self.data, path)
        self.assert_refused(run("data", "partition", path, "--workers", 3), "--split-duration")
        for duration in ("1min", "0s"):
            self.assert_refused(run("data", "partition", path, "--workers", 3, "--blocks", 2, "--split-duration", duration), "cannot be combined with --blocks")
        self.assert_refused(run("data", "partition", path, "--workers", 3, "--split-duration", "22.5min"), "frame_shift_s")
        self.assert_refused(run("data", "partition", path, "--workers", 30, "--blocks", 4, "--utterances"), "utterances")
        self.assertEqual(run("data", "partition", path, "--workers", 3, "--blocks", 4, "--utterances").returncode, 0)
        self.assertEqual(run("data", "verify", path).returncode, 0)
        task = [str(path) if a == self.data else a for a in self.task]
        trained = weights(run("simulate", "--workers", 3, "--platform", PLATFORM, "--strategy", "bmuf", *task))
        self.assertNotEqual(trained, weights(self.simulate(3, "--strategy", "bmuf")))

    def import_kaldi(self, features: str, alignments: str, *more: str):
        (self.folder / "feats.ark").write_text(features)
        (self.folder / "ali.ark").write_text(alignments)
        return run("data", "import-kaldi", "--features", self.folder / "feats.ark", "--alignments", self.folder / "ali.ark",
                   "--name", "x", "--out", self.folder / "kaldi.h5", *more)

    def test_kaldi_archives(self):
        features = "".join(f"u{u} [ " + "\n".join(f"{u + t} {t * t} 1" for t in range(10 + u)) + " ]\n" for u in range(8))
        alignments = "".join(f"u{u} {' '.join(str(t % 3) for t in range(10 + u))}\n" for u in range(7))
        self.assert_refused(self.import_kaldi(features, alignments), "u7", "--skip-missing")
        made = self.import_kaldi(features, alignments, "--skip-missing", "--context", "2+1", "--valid", "2", "--cmvn", "global")
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertIn("skipped 1 utterances without alignment and 0", made.stdout)
        self.assertEqual(run("data", "verify", self.folder / "kaldi.h5").returncode, 0)
        self.assertIn('"left": 2', run("data", "info", self.folder / "kaldi.h5").stdout)
        task = ["--data", str(self.folder / "kaldi.h5"), "--model", "12-6-3:sigmoid", "--learning-rate", "0.1", "--quiet"]
        weights(run("simulate", "--workers", 2, "--platform", PLATFORM, "--strategy", "model_averaging", "--blocks", 2, *task))
        for more, part in ((["--context", "5"], "5+5"), (["--context", "5+5000"], "5+5000"), (["--frame-shift", "-1ms"], "-1ms"),
                           (["--cmvn", "everything"], "everything"), (["--classes", "2"], "u0")):
            self.assert_refused(self.import_kaldi(features, alignments, "--skip-missing", *more), part)
        self.assert_refused(self.import_kaldi(features[:-4], alignments), "u7")
        self.assert_refused(self.import_kaldi("gunk" * 9999, alignments), "feats.ark")

    def test_output_that_cannot_be_written_is_an_error_of_every_command(self):
        for words in (["--version"], ["help"], ["help", "bmuf"], ["train", "--help"], ["manual"], ["completion", "bash"], ["model", "8-4"],
                      ["platform", PLATFORM], ["data", "info", self.data], ["data", "verify", self.data], ["train", *self.task],
                      ["collective", "--platform", PLATFORM, "--workers", 2, "--bytes", "1kB"]):
            with self.subTest(words=words), open("/dev/full", "w") as full:
                done = subprocess.run([PROGRAM, *map(str, words)], stdout=full, stderr=subprocess.PIPE, text=True)
                self.assertEqual((done.returncode, done.stderr),
                                 (2, "paragrad: cannot write all of the output to the standard output\n"))

    @unittest.skipUnless(can_mount(), "needs a small disk")
    def test_a_full_disk_leaves_the_previous_checkpoint(self):
        script = f"""
            mount -t tmpfs -o size=400k none {self.folder}/small 2>/dev/null || exit 77
            cd {self.folder}/small
            {PROGRAM} train {' '.join(self.task)} --out run >/dev/null || exit 78
            sha256sum run/checkpoint.h5 > before
            head -c 1M /dev/zero > filler 2>/dev/null
            {PROGRAM} train {' '.join(self.task)} --out run2
            code=$?
            sha256sum --quiet -c before || exit 79
            exit $code"""
        (self.folder / "small").mkdir()
        result = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, timeout=60)
        if result.returncode == 77:
            self.skipTest("no tmpfs may be mounted here")
        self.assert_refused(result, "No space left on device")


if __name__ == "__main__":
    unittest.main()
