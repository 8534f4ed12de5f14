#!/usr/bin/env python3
"""`paragrad retime` gives a finished run the times that `paragrad simulate` would have recorded elsewhere, to the last digit."""

import json
import re
import shutil
import unittest
from pathlib import Path

from paragrad_cli import MPIEXEC, PLATFORM, ROOT, CliTest, run, weights, without

PLATFORMS = ("k40m-fdr", "ethernet-1g", "v100-edr-nvlink")
STRATEGIES = [e for e in json.loads(run("help", "strategy", "--format", "json").stdout)[0]["entries"]
              if not any(o["name"] == "servers" for o in e["options"])]
FEATURES = {  # trainings whose course is not that of a plain one
    "validations, best model": ["--strategy", "bmuf", "--validations", "2", "--keep-best", "true"],
    "ended early": ["--strategy", "bmuf", "--epochs", "9", "--target-error", "0.6"],
    "ended by patience": ["--strategy", "bmuf", "--epochs", "9", "--patience", "1", "--patience-gain", "0.9"],
    "rate by validation": ["--strategy", "model_averaging", "--schedule", "newbob"],
    "compressed": ["--strategy", "data_parallel", "--compression", "fp16", "--bucket-bytes", "200"],
    "statistics": ["--strategy", "diloco", "--update-statistics", "true"],
    "compressed models": ["--strategy", "streaming_diloco", "--fragment-cut", "packed", "--outer-compression", "e3m0"],
    "one worker first": ["--strategy", "diloco", "--parallel-start-epoch", "2"],
    "tensor parallel": ["--strategy", "data_parallel", "--tensor-parallel", "2"],
    "given rate": ["--strategy", "data_parallel", "--device-rate", "1000"],
}


def records(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


class Retime(CliTest):
    count = 0

    def fresh(self) -> Path:
        """A folder that nobody has named before."""
        Retime.count += 1
        return self.folder / f"fresh-{Retime.count}"

    def check(self, words: list, workers: int = 4) -> None:
        out, priced = self.fresh(), self.fresh()
        task = self.task
        for option in ("--model", "--epochs", "--minibatch"):
            task = without(task, option) if option in words else task
        weights(run("simulate", "--platform", PLATFORM, "--workers", workers, *task, *words, "--out", out))
        priced_on = run("retime", out, "--platforms", ",".join(PLATFORMS), "--out", priced)
        self.assertEqual(priced_on.returncode, 0, priced_on.stderr)
        self.assertEqual(len(priced_on.stdout.splitlines()), 2 + len(PLATFORMS))
        for platform in PLATFORMS:
            again = self.fresh()
            weights(run("simulate", "--config", out / "config.toml", "--platform", platform, "--out", again))
            with self.subTest(words=words, platform=platform):
                retimed = priced / f"{out.name}-{platform}"
                self.assertEqual(records(retimed), records(again))
                told = json.loads((retimed / "manifest.json").read_text())
                self.assertEqual(told["result"], json.loads((again / "manifest.json").read_text())["result"])
                self.assertEqual((told["platform"]["name"], told["retimed"]["run"]), (platform, str(out)))
                self.assertEqual(run("compare", retimed, out).returncode, 0)

    def test_every_strategy_without_servers(self):
        self.assertGreater(len(STRATEGIES), 8)
        for entry in STRATEGIES:
            more = ["--optimiser", "adam"] if entry["name"] == "bmuf_adam" else []
            self.check(["--strategy", entry["name"], *more], 1 if entry["name"] == "sgd" else 4)

    def test_trainings_that_take_another_course(self):
        for words in FEATURES.values():
            self.check(words)

    @unittest.skipUnless(MPIEXEC, "needs MPI")
    def test_a_measured_run_gets_the_times_of_an_emulated_one(self):
        words = [*self.task, "--strategy", "streaming_diloco"]
        measured, emulated, priced = self.fresh(), self.fresh(), self.fresh()
        weights(run("train", *words, "--out", measured, ranks=3))
        weights(run("simulate", *words, "--workers", 3, "--platform", "k40m-fdr", "--out", emulated))
        run("retime", measured, "--platforms", "k40m-fdr", "--out", priced).check_returncode()
        folder = priced / f"{measured.name}-k40m-fdr"
        self.assertEqual(records(folder), records(emulated))
        again = self.fresh()
        weights(run("simulate", "--config", folder / "config.toml", "--out", again))
        self.assertEqual(records(again), records(emulated))

    def test_what_cannot_be_timed_again_is_refused(self):
        for words, why in ((["--strategy", "async_sgd", "--optimiser", "sgd", "--momentum", "0"], "async_sgd"),
                           (["--strategy", "bmuf", "--balance", "true"], "--balance"),
                           (["--strategy", "bmuf", "--auto-minibatch", "true", "--minibatch-search-samples", "100"], "--auto-minibatch"),
                           (["--strategy", "data_parallel", "--pretrain-epochs", "1", "--visible-units", "gaussian"], "pretraining"),
                           (["--strategy", "model_averaging", "--schedule", "newbob", "--newbob-restore", "true"], "--newbob-restore")):
            out = self.fresh()
            self.simulate(2, *words, "--out", out).check_returncode()
            with self.subTest(words=words):
                self.assert_refused(run("retime", out, "--platforms", "k40m-fdr"), "cannot be timed again", why)
        out = self.fresh()
        words = [*without(self.task, "--model"), "--model", "8-lstm6-6", "--chunks", "2-8+2", "--strategy", "bmuf"]
        weights(run("simulate", "--platform", PLATFORM, "--workers", 2, *words, "--out", out))
        self.assert_refused(run("retime", out, "--platforms", "k40m-fdr"), "differ in length")
        out = self.fresh()
        weights(self.simulate(2, "--strategy", "bmuf", "--out", out))
        failing = self.folder / "failing.toml"
        failing.write_text(Path(PLATFORM).read_text() + '\n[failures]\nmtbf = "10d"\nrepair = "1h"\nrestart = "1min"\n')
        self.assert_refused(run("retime", out, "--platforms", failing), "devices of 'failing' fail")
        self.assert_refused(run("retime", out, "--platforms", "nowhere"), "nowhere")
        self.assert_refused(run("retime", self.folder, "--platforms", "k40m-fdr"), "not a run folder")
        self.assert_refused(run("retime", out), "--platforms")

    def test_platforms_and_data_on_which_it_could_not_run(self):
        out = self.fresh()
        weights(self.simulate(5, "--strategy", "bmuf", "--out", out))
        small = self.folder / "small.toml"
        small.write_text(re.sub(r"nodes = \d+", "nodes = 1", Path(PLATFORM).read_text(), count=1))
        self.assert_refused(run("retime", out, "--platforms", small), "too few for 5 workers")
        changed = self.folder / "other.h5"
        run("data", "generate", "--out", changed, "--samples", 700, "--valid", 60, "--test", 60, "--dim", 8, "--classes", 6).check_returncode()
        other = self.folder / "other-data"
        shutil.copytree(out, other)
        (other / "config.toml").write_text((out / "config.toml").read_text().replace(self.data, str(changed)))
        self.assert_refused(run("retime", other, "--platforms", "k40m-fdr"), "holds other data now")

    def test_another_network_is_charged_for(self):
        out, priced = self.fresh(), self.fresh()
        weights(self.simulate(3, "--strategy", "streaming_diloco", "--out", out))
        large = "8-300-40-6:sigmoid"
        done = run("retime", out, "--platforms", "ethernet-1g", "--time-as", large, "--out", priced)
        self.assertIn(f"those of {large} ({8 * 300 + 300 + 300 * 40 + 40 + 40 * 6 + 6} parameters)", done.stdout, done.stderr)
        timed = self.fresh()
        run("simulate", "--workers", 3, "--platform", "ethernet-1g", "--device", "meta", "--strategy", "streaming_diloco",
            *without(without(self.task, "--model"), "--learning-rate"), "--model", large, "--out", timed).check_returncode()
        found, expected, original = records(priced / f"{out.name}-ethernet-1g"), records(timed), records(out)
        for one, other, before in zip(found, expected, original, strict=True):
            for name, value in one.items():
                of_time = name.endswith(("_s", "_bytes")) or name in ("exposed", "messages")
                self.assertEqual(value, (other if of_time else before)[name], name)
        self.assertEqual(json.loads((priced / f"{out.name}-ethernet-1g/manifest.json").read_text())["retimed"]["time_as"], large)
        self.assert_refused(run("retime", out, "--platforms", "ethernet-1g", "--time-as", "9-300-6:sigmoid"))
        self.assert_refused(run("retime", out, "--platforms", "ethernet-1g", "--time-as", "nothing"))

    def test_keys_of_a_platform_are_varied_as_if_each_combination_had_a_file(self):
        out, result = self.fresh(), self.fresh()
        weights(self.simulate(3, "--strategy", "diloco", "--validations", "2", "--out", out))
        losses = [record["valid_loss"] for record in records(out)[:-1]]
        loss = (losses[1] + losses[2]) / 2
        bandwidths, sigmas = ("1MBps", "100MBps"), ("0", "0.5")
        words = [f"leaf.bandwidth={'/'.join(bandwidths)},noise.step_sigma={'/'.join(sigmas)}", "--to-loss", loss]
        done = run("retime", out, "--platforms", "ethernet-1g", "--vary", *words, "--result", result)
        self.assertEqual(done.returncode, 0, done.stderr)
        told = json.loads(result.read_text())
        names = [f"ethernet-1g {bandwidth}/{sigma}" for bandwidth in bandwidths for sigma in sigmas]
        self.assertEqual([list(told[name]) for name in ("training_s", "reached_s")], [names, names])
        text = re.sub(r"(?ms)^\[noise\].*?(?=^\[|\Z)", "", (ROOT / "sim/platforms/ethernet-1g.toml").read_text())
        for name, bandwidth, sigma in zip(names, [one for one in bandwidths for _ in sigmas], sigmas * 2):
            file, again = self.folder / "changed.toml", self.fresh()
            head, leaf, tail = text.partition("[leaf]")
            changed = re.sub(r'(?m)^bandwidth = "[^"]+"', f'bandwidth = "{bandwidth}"', tail, count=1)
            file.write_text(f"{head}{leaf}{changed}\n[noise]\nstep_sigma = {sigma}\n")
            weights(run("simulate", "--config", out / "config.toml", "--platform", file, "--out", again))
            with self.subTest(name):
                *parts, end = records(again)
                self.assertEqual(told["training_s"][name], end["training_s"])
                passed = [sum(part[key] for key in ("optimise_s", "aggregate_s", "data_s")) for part in parts]
                share = (losses[1] - loss) / (losses[1] - losses[2])
                self.assertAlmostEqual(told["reached_s"][name], sum(passed[:2]) + share * passed[2], places=9)
        self.assertAlmostEqual(told["reached_samples"], records(out)[1]["samples"] + share * (records(out)[2]["samples"] - records(out)[1]["samples"]))
        run("retime", out, "--platforms", "ethernet-1g", "--to-loss", 1e9, "--result", result).check_returncode()
        self.assertEqual(json.loads(result.read_text())["reached_samples"], records(out)[0]["samples"])
        never = run("retime", out, "--platforms", "ethernet-1g", "--to-loss", 1e-9, "--result", result)
        self.assertTrue(never.stdout.rstrip().endswith("never"), never.stdout)
        self.assertEqual(json.loads(result.read_text())["reached_bytes"], {"ethernet-1g": None})

    def test_keys_that_cannot_be_varied_are_refused(self):
        out = self.fresh()
        weights(self.simulate(2, "--strategy", "bmuf", "--out", out))
        for words, said in (("leaf.bandwidth", "has no ="), ("leaf.bandwidth=", "lacks a value"), ("leaf.bandwidth=1MBps/", "lacks a value"),
                            ("leaf=1", "a section and its key"), ("a.b.c=1", "a section and its key"), ("leaf.x=1", "leaf.x"),
                            ("nothing.x=1", "not a known section"), ("fault.id=1", "[fault]"), ("size_class.from=1B", "size_class"),
                            ("leaf.bandwidth=fast", "'fast' is not a bandwidth"), ("cluster.nodes=0", "cluster.nodes"),
                            ("leaf.latency=1us,leaf.latency=2us", "varied twice")):
            with self.subTest(words):
                self.assert_refused(run("retime", out, "--platforms", "k40m-fdr", "--vary", words), said)
        self.assert_refused(run("retime", out, "--platforms", "k40m-fdr", "--vary", "leaf.latency=1us", "--out", self.fresh()), "--vary")
        self.assert_refused(run("retime", out, out, "--platforms", "k40m-fdr", "--result", self.fresh()), "is for one run")
        self.assert_refused(run("retime", out, "--platforms", "k40m-fdr,k40m-fdr"), "two platforms have the name 'k40m-fdr'")
        self.assert_refused(run("retime", out, "--platforms", "k40m-fdr", "--vary", "leaf.latency=1us/1us"), "k40m-fdr 1us")
        self.assert_refused(run("retime", out, "--platforms", "k40m-fdr", "--overwrite"), "--out")

    def test_what_is_written_leads_nowhere_else(self):
        out, priced = self.fresh(), self.fresh()
        weights(self.simulate(2, "--strategy", "bmuf", "--checkpoint-every", "1", "--out", out))
        run("retime", out, "--platforms", "k40m-fdr", "--out", priced).check_returncode()
        told = (priced / f"{out.name}-k40m-fdr/config.toml").read_text()
        self.assertIn(f'out="{priced / f"{out.name}-k40m-fdr"}"', told)
        self.assertNotIn("checkpoint-every", told)
        twin = self.folder / "twin" / out.name
        shutil.copytree(out, twin)
        self.assert_refused(run("retime", out, twin, "--platforms", "k40m-fdr", "--out", self.fresh()), "two runs would be written")

    def test_damaged_runs_are_refused_in_a_sentence(self):
        whole = self.fresh()
        weights(self.simulate(2, "--strategy", "bmuf", "--out", whole))
        for number, (file, damage) in enumerate((
                ("metrics.jsonl", lambda text: text[:-40]), ("metrics.jsonl", lambda text: ""), ("metrics.jsonl", lambda text: text + "[]\n"),
                ("metrics.jsonl", lambda text: text.splitlines()[0] + "\n"), ("config.toml", lambda text: text.replace('strategy="bmuf"', "strategy=[")),
                ("config.toml", lambda text: text.replace("epochs=2", "epochs=-2")), ("manifest.json", lambda text: text.replace('"epochs": 2', '"epochs": "x"')),
                ("manifest.json", lambda text: text.replace('"workers": 2', '"workers": -1')), ("manifest.json", lambda text: "{}"))):
            damaged = self.folder / f"damaged-{number}"
            shutil.copytree(whole, damaged)
            (damaged / file).write_text(damage((whole / file).read_text()))
            with self.subTest(number=number, file=file):
                self.assert_refused(run("retime", damaged, "--platforms", "k40m-fdr"))

    def test_nothing_is_overwritten_unless_asked(self):
        out, priced = self.fresh(), self.fresh()
        weights(self.simulate(2, "--strategy", "bmuf", "--out", out))
        words = ["retime", out, "--platforms", "k40m-fdr", "--out", priced]
        run(*words).check_returncode()
        self.assert_refused(run(*words), "overwrite")
        run(*words, "--overwrite").check_returncode()


if __name__ == "__main__":
    unittest.main()
