#!/usr/bin/env python3
"""A search runs every configuration once, goes on after an interruption, and stops the worse ones at its rungs."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
import unittest
from pathlib import Path

from paragrad_cli import PLATFORM, PROGRAM, run, weights
from search_case import SearchCase


class Search(SearchCase):
    def test_every_configuration_runs_with_every_seed_and_gives_what_it_gives_alone(self):
        self.write()
        text = self.search("--seeds", "1,2").stdout
        self.assertIn("4 configurations, 2 seeds", text)
        rows = self.table(text)
        self.assertEqual(sorted(row[0] for row in rows), ["001", "002", "003", "004"])
        scores = [float(row[4].split()[0]) for row in rows]
        self.assertEqual(scores, sorted(scores))
        self.assertTrue(text.endswith(f"best by valid_error: {self.out}/{rows[0][0]}-s1\n"))
        alone = run("simulate", "--data", self.data, "--model", "8-12-6:sigmoid", "--workers", 2, "--platform", PLATFORM, "--blocks", 4,
                    "--epochs", 4, "--minibatch", 16, "--strategy", "bmuf", "--learning-rate", "0.05", "--seed", 2, "--quiet")
        bmuf = next(row[0] for row in rows if row[1:3] == ["bmuf", "0.05"])
        self.assertEqual(self.manifest(f"{bmuf}-s2")["result"]["parameters_sha256"], weights(alone))
        errors = [100 * self.manifest(f"{rows[0][0]}-s{seed}")["result"]["valid_error"] for seed in (1, 2)]
        deviation = abs(errors[0] - errors[1]) / 2 ** 0.5
        self.assertEqual(rows[0][4], f"{sum(errors) / 2:.2f} ± {deviation:.2f} %")
        results = self.results()
        spent = [self.manifest(f"{row[0]}-s{seed}")["result"]["training_s"] for row in rows for seed in (1, 2)]
        of_all = self.manifest("")["result"]
        self.assertAlmostEqual(of_all["training_s"], sum(spent))
        self.assertEqual((of_all["runs"], of_all["epochs"], of_all["best"]), (8, 32, rows[0][0]))
        self.assertEqual(100 * of_all["valid_error"], sum(errors) / 2)
        self.assertLess(max(spent), of_all["makespan_s"])
        self.search("--seeds", "1,2", "--groups", "100")
        self.assertEqual(self.manifest("")["result"]["makespan_s"], max(spent))
        self.assertEqual([(one["run"], one["options"]["strategy"], one["options"]["learning-rate"]) for one in results["configurations"]],
                         [tuple(row[:3]) for row in rows])
        self.assertEqual([100 * error for error in results["configurations"][0]["valid_error"]], errors)

    def test_a_value_may_name_the_seed(self):
        for seed in (1, 2):
            first = run("simulate", "--data", self.data, "--model", "8-12-6:sigmoid", "--workers", 1, "--platform", PLATFORM, "--seed", seed,
                        "--learning-rate", 0.1, "--epochs", 1, "--quiet", "--out", self.folder / f"first-s{seed}")
            self.assertEqual(first.returncode, 0, first.stderr)
        self.write(strategy="bmuf", init=f'"{self.folder}/first-s{{seed}}/checkpoint.h5"')
        self.search("--seeds", "1,2", "--host-threads", "1")
        for seed in (1, 2):
            config = (self.out / f"001-s{seed}/config.toml").read_text()
            self.assertIn(f'first-s{seed}/checkpoint.h5"', config)

    def test_what_is_finished_is_not_run_again_and_another_search_is_refused(self):
        self.write()
        first = self.search().stdout
        finished = self.manifest("002-s1")
        (self.out / "003-s1/manifest.json").unlink()
        second = self.search().stdout
        self.assertEqual(self.manifest("002-s1"), finished)
        self.assertEqual(re.findall(r"^\d{3}-s\d", second, re.MULTILINE), ["003-s1"])
        self.assertEqual(self.table(first), self.table(second))
        for words, part in ((("--seeds", "1,2"), "--seeds"), (("--rungs", "1"), "--rungs")):
            self.assert_refused(run("search", self.file, "--out", self.out, *words), "holds another search", part)
        self.write(epochs="5")
        self.assert_refused(run("search", self.file, "--out", self.out), "holds another search", self.file.name)

    def test_a_search_whose_files_have_changed_is_another(self):
        network, platform, data = (self.folder / f"{self._testMethodName}.{name}" for name in ("txt", "platform.toml", "h5"))
        shutil.copy(self.data, data)
        shutil.copy(PLATFORM, platform)
        network.write_text("network small\ninput 8\ny = affine input outputs=6\n")
        self.write(strategy="bmuf", epochs="1", data=f'"{data}"', platform=f'"{platform}"', model=f'"file:{network}"')
        self.search()
        for file, change in ((data, lambda: run("data", "generate", "--out", data, "--samples", 500, "--valid", 60, "--test", 60, "--dim", 8, "--classes", 6, "--seed", 2)),
                             (platform, lambda: platform.write_text(platform.read_text() + "# changed\n")),
                             (network, lambda: network.write_text(network.read_text() + "\n"))):
            with self.subTest(file=file.name):
                before = file.read_bytes()
                change()
                self.assert_refused(run("search", self.file, "--out", self.out), "holds another search: the content of", file.name)
                file.write_bytes(before)
        self.search()

    def test_a_folder_holds_a_search_or_a_run_but_not_both(self):
        run_folder = self.folder / "run-folder"
        self.assertEqual(self.simulate(1, "--out", run_folder).returncode, 0)
        self.write(strategy="bmuf", epochs="1")
        before = (run_folder / "manifest.json").read_bytes()
        self.assert_refused(run("search", self.file, "--out", run_folder), "contains a run", "--out")
        self.assertEqual((run_folder / "manifest.json").read_bytes(), before)
        self.search()
        before = (self.out / "manifest.json").read_bytes()
        for more in ([], ["--overwrite"], ["--resume"]):
            self.assert_refused(self.simulate(1, "--out", self.out, *more), "contains a search", "--out")
        self.assertEqual((self.out / "manifest.json").read_bytes(), before)

    def test_a_killed_search_ends_its_runs_and_is_continued(self):
        self.write(epochs="400", **{"checkpoint-every": "70"})
        words = ["--rungs", "200"]
        process = subprocess.Popen([PROGRAM, "search", self.file, "--out", self.out, *words], stdout=subprocess.DEVNULL)
        while not list(self.out.glob("*/metrics.jsonl")):
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
        deadline = time.monotonic() + 10
        while self.runs_of_search() and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(self.runs_of_search(), [])
        continued = self.table(self.search(*words, timeout=100).stdout)
        self.out = self.folder / "uninterrupted"
        self.assertEqual(self.table(self.search(*words, timeout=100).stdout), continued)

    def test_a_search_killed_in_the_middle_loses_no_run_and_repeats_none(self):
        self.write(**{"learning-rate": "[0.05, 0.1, 0.15, 0.2, 0.25, 0.3]"})
        words = ["--seeds", "1,2", "--jobs", "2"]
        process = subprocess.Popen([PROGRAM, "search", self.file, "--out", self.out, *words], stdout=subprocess.DEVNULL)
        while len(self.finished()) < 8:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
        while self.runs_of_search():
            time.sleep(0.01)
        before = self.finished()
        self.assertLess(len(before), 24)
        text = self.search(*words).stdout
        after = self.finished()
        self.assertEqual(len(after), 24)
        self.assertEqual({name: after[name] for name in before}, before)
        self.assertEqual(set(re.findall(r"^\d{3}-s\d", text, re.MULTILINE)), set(after) - set(before))
        self.out = self.folder / "in-one-go"
        self.assertEqual(self.table(self.search(*words).stdout), self.table(text))

    def finished(self) -> dict[str, str]:
        """The manifests of the runs that have finished, by run."""
        texts = {path.parent.name: path.read_text() for path in self.out.glob("*/manifest.json")}
        return {name: text for name, text in texts.items() if '"finished"' in text}

    def tasks(self, jobs: Path) -> None:
        """Executes the tasks of a job array all at the same time, without Slurm."""
        number = int(re.search(r"^#SBATCH --array=1-(\d+)$", jobs.read_text(), re.MULTILINE)[1])
        running = [subprocess.Popen(["bash", jobs], env=os.environ | {"SLURM_ARRAY_TASK_ID": str(task)}, stdout=subprocess.PIPE,
                                    stderr=subprocess.STDOUT, text=True) for task in range(1, number + 1)]
        for task in running:
            text, _ = task.communicate(timeout=60)
            self.assertEqual(task.returncode, 0, text)

    def test_tasks_of_a_job_array_find_what_one_search_finds(self):
        self.write()
        jobs = self.folder / "array.sbatch"
        for number, words in enumerate((("--seeds", "1,2"), ("--seeds", "1,2", "--parts", "3"), ("--rungs", "1,2"))):
            with self.subTest(words=words):
                self.out = self.folder / f"it's an array {number}"
                written = self.search(*words, "--write-jobs", jobs)
                self.assertEqual((self.finished(), written.stdout.count("3 times")), ({}, words[0] == "--rungs"))
                for _ in range(3 if words[0] == "--rungs" else 1):
                    self.tasks(jobs)
                same = [word for word in words if word not in ("--parts", "3")]
                ranked = self.search(*same, "--only-rank").stdout
                finished = self.finished()
                again = self.search(*same).stdout
                self.assertEqual((self.finished(), re.findall(r"^\d{3}-s\d", again, re.MULTILINE)), (finished, []))
                array = self.results()
                self.out = self.folder / f"local {number}"
                local = self.search(*same).stdout
                here = self.results()
                if "--rungs" in words:  # when a run was paused can be seen in its time
                    for results in (array, here):
                        for one in results["configurations"]:
                            del one["training_s"]
                    ranked, local = (re.sub(r"  \S+s$", "", table, flags=re.MULTILINE) for table in (ranked, local))
                self.assertEqual(self.table(ranked), self.table(local))
                self.assertEqual(here, array)

    def test_runs_of_a_part_belong_to_it_while_it_runs(self):
        self.write(epochs="100000", **{"checkpoint-every": "50"})
        part = ("--part", "2")
        self.assert_refused(run("search", self.file, "--out", self.out, *part), "holds no search", "--write-jobs")
        self.search("--write-jobs", self.folder / "array.sbatch")
        process = subprocess.Popen([PROGRAM, "search", self.file, "--out", self.out, *part], stdout=subprocess.DEVNULL)
        while not (self.out / "002-s1/state/latest.json").exists():
            time.sleep(0.01)
        for words in (part, ("--parts", "2", "--part", "2"), ()):
            self.assert_refused(run("search", self.file, "--out", self.out, *words), "in use by another process")
        ranked = self.search("--only-rank").stdout
        self.assertIn("4 of 4 runs have not reached their end yet; the first: 001-s1\n", ranked)
        self.assertEqual([row[0] for row in self.table(ranked)][0], "002")
        process.kill()
        process.wait()

    def test_a_part_whose_run_fails_says_so_and_tries_it_again(self):
        self.write(strategy="model_averaging", model='["7-12-6:sigmoid", "8-12-6:sigmoid"]', **{"learning-rate": "0.1"})
        self.search("--write-jobs", self.folder / "array.sbatch")
        for _ in range(2):
            failed = run("search", self.file, "--out", self.out, "--part", "1")
            self.assert_refused(failed, "1 of the 1 runs of part 1 failed", "8 features")
            self.assertRegex(failed.stdout, "001-s1  .*8 features")
        self.search("--part", "2")
        before = {path: path.read_bytes() for path in self.out.glob("*.failure")}
        ranked = self.table(self.search("--only-rank", status=2).stdout)
        self.assertEqual([(row[0], row[-1] == "refused") for row in ranked], [("002", False), ("001", True)])
        self.assertEqual({path: path.read_bytes() for path in self.out.glob("*.failure")}, before)

    def runs_of_search(self) -> list[str]:
        """Processes that write into the folder of the search."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if f"--out={self.out}/" in (process / "cmdline").read_text() and int(process.name) != os.getpid():
                    found.append(process.name)
            except OSError:
                pass  # it has ended meanwhile
        return found

    def test_the_worse_configurations_stop_at_the_rungs(self):
        self.write(strategy="model_averaging", **{"learning-rate": '"0.001..1 log"'})
        text = self.search("--draws", "4", "--rungs", "1,2", "--keep", "0.5").stdout
        self.assertIn("epoch 1: 2 of 4 configurations continue\n", text)
        self.assertIn("epoch 2: 1 of 2 configurations continue\n", text)
        rows = self.table(text)
        self.assertEqual([row[2] for row in rows], ["4", "2", "1", "1"])
        self.assertEqual([row[4] for row in rows[1:]], ["-"] * 3)

        def error_after(name: str, epoch: int) -> float:
            records = [json.loads(line) for line in (self.out / f"{name}-s1/metrics.jsonl").read_text().splitlines()]
            return next(record["valid_error"] for record in records if record.get("epoch") == epoch)

        self.search("--draws", "4", "--rungs", "1,2", "--keep", "0.5", "--groups", "1")
        of_all = self.manifest("")["result"]  # one group trains one after the other, and no epoch twice
        self.assertAlmostEqual(of_all["makespan_s"], of_all["training_s"])
        first = {row[0]: error_after(row[0], 1) for row in rows}
        self.assertLessEqual(max(first[row[0]] for row in rows[:2]), min(first[row[0]] for row in rows[2:]))
        alone = run("simulate", "--data", self.data, "--model", "8-12-6:sigmoid", "--workers", 2, "--platform", PLATFORM, "--blocks", 4,
                    "--epochs", 4, "--minibatch", 16, "--strategy", "model_averaging", "--learning-rate", rows[0][1], "--quiet")
        self.assertEqual(self.manifest(f"{rows[0][0]}-s1")["result"]["parameters_sha256"], weights(alone))

    def test_runs_that_end_before_a_rung_are_judged_by_their_results(self):
        self.write(strategy="model_averaging")
        rows = self.table(self.search("--rungs", "9").stdout)
        self.assertEqual([row[2] for row in rows], ["4", "4"])
        self.assertLess(float(rows[0][3].split()[0]), float(rows[1][3].split()[0]))

    def test_combinations_that_a_run_would_refuse_are_refused_before_anything_trains(self):
        for options, *parts in (
            ({"block-momentum": "[0.5, 0.9]"}, "configuration 001", "--block-momentum is an option of", "bmuf"),
            ({"gradient-bits": "[1, 32]", "strategy": '["data_parallel", "bmuf"]'}, "configuration 005", "--gradient-bits is an option of",
             "give each a [[run]]"),
            ({"strategy": '["nonsense", "model_averaging"]'}, "unknown strategy 'nonsense'"),
            ({"optimiser": '["sgd", "adam"]', "momentum": "0.5"}, "configuration 001", "--momentum"),
            ({"resume": "true"}, "'resume' is set by the search"),
            ({"rescale": "true"}, "rescale"),
        ):
            with self.subTest(options=options):
                self.write(**options)
                self.assert_refused(run("search", self.file, "--out", self.out), self.file.name, *parts)
                self.assertFalse(self.out.exists())
        self.write(workers="", platform="", strategy="model_averaging", momentum="0.5", optimiser='["sgd", "momentum"]')
        self.assert_refused(run("search", self.file, "--out", self.out, "--command", "train"), "configuration 001", "--momentum")

    def test_timing_runs_are_ranked_by_their_time(self):
        self.write(data="", epochs="1", workers="[2, 4, 8]", device="meta", model="zoo:lenet5", minibatch="64", strategy="data_parallel",
                   **{"train-samples": "4096", "learning-rate": ""})
        text = self.search().stdout
        rows = self.table(text)
        times = {row[1]: self.manifest(f"{row[0]}-s1")["result"]["training_s"] for row in rows}
        self.assertEqual(list(times), sorted(times, key=times.get))
        self.assertRegex(text, r"\nrun  workers  epochs +sent +time\n")
        self.assertRegex(text, r"\n001-s1  training_s [0-9.]+m?s\n")
        self.assertIn("best by training_s: ", text)
        self.out = self.folder / "with rungs"
        self.assert_refused(run("search", self.file, "--out", self.out, "--rungs", "1"), "--rungs pauses runs, which timing runs cannot be")

    @unittest.skipIf(Path("/dev/nvidia0").exists(), "has a GPU")
    def test_jobs_for_gpus_are_written_where_there_is_none(self):
        self.write(device="cuda")
        self.search("--write-jobs", self.folder / "gpu.sbatch")
        self.assert_refused(run("search", self.file, "--out", self.out, "--only-rank"), "no configuration has a result")

    def test_runs_that_diverged_are_marked_and_no_error(self):
        self.write(strategy="model_averaging", **{"learning-rate": "[0.1, 3000, 1e30]", "model": "8-12-6:relu"})
        done = self.search()
        self.assertEqual(done.stderr, "")
        remarks = {row[1]: row[-1] for row in self.table(done.stdout)}
        self.assertRegex(remarks["0.1"], r"s$")  # its time
        self.assertIn(remarks["3000"], ("diverged or too short", "failed"))
        self.assertEqual(remarks["1e30"], "failed")
        self.assertIn("lower the learning rate", done.stdout)

    def test_a_run_no_better_than_a_constant_is_marked(self):
        self.write(strategy="model_averaging", **{"learning-rate": "[0.1, 30]", "momentum": "0.99", "optimiser": "momentum"})
        done = self.search()
        table = {row[1]: row for row in self.table(done.stdout)}
        self.assertGreater(self.manifest(f"{table['30'][0]}-s1")["result"]["train_loss"], 1.7918)  # ln 6
        self.assertEqual(table["30"][-1], "diverged or too short")
        self.assertRegex(done.stdout, rf"{table['30'][0]}-s1  valid_error .* % \(diverged or too short\)")

    def test_an_option_that_all_runs_lack_is_missed_once_and_before_the_first(self):
        self.write(workers="", platform="")
        self.assert_refused(run("search", self.file, "--out", self.out), self.file.name, "--platform is required", "give --command train")
        self.assertFalse(self.out.exists())
        self.write(epochs="[4, -1]")
        self.assert_refused(run("search", self.file, "--out", self.out), "configuration 005", "--epochs: '-1'")
        self.assertFalse(self.out.exists())

    def test_a_configuration_that_fails_is_last_and_changes_the_exit_status(self):
        self.write(strategy="model_averaging", model='["7-12-6:sigmoid", "8-12-6:sigmoid", "9-12-6:sigmoid"]', **{"learning-rate": "0.1"})
        done = self.search(status=2)  # the data have 8 features, which is known when they are read
        self.assertRegex(done.stdout, r"001-s1  .*8 features")
        self.assertEqual([(row[0], row[-1] == "refused") for row in self.table(done.stdout)], [("002", False), ("001", True), ("003", True)])
        self.assertRegex(done.stdout, r"best by valid_error: \S+\n$")
        self.assertRegex(done.stderr, r"^paragrad: 2 of 3 runs were refused and are not ranked; the first: 001-s1: .*\n$")
        results = self.results()
        self.assertEqual([one["remarks"] for one in results["configurations"]], [[""]] + [["refused"]] * 2)
        again = self.search(status=2).stdout  # tries it again, as the reason might have been a full disk
        self.assertEqual(sorted(re.findall(r"^\d{3}-s\d", again, re.MULTILINE)), ["001-s1", "003-s1"])
        self.assertEqual(self.table(again), self.table(done.stdout))
        self.write(strategy="model_averaging", model="7-12-6:sigmoid")
        self.out = self.folder / "all-fail"
        failed = run("search", self.file, "--out", self.out)
        self.assert_refused(failed, "every configuration failed", "8 features")
        self.assertIn("the same as 00", failed.stdout)
        self.assertNotIn("valid_error", failed.stdout)  # no table of dashes

    def test_ranks_train_what_emulated_workers_train(self):
        self.write(workers="", platform="", **{"learning-rate": "0.1"})
        self.search("--command", "train", "--ranks", "2", "--jobs", "1", timeout=100)
        for number, strategy in (("001", "model_averaging"), ("002", "bmuf")):
            alone = run("simulate", "--data", self.data, "--model", "8-12-6:sigmoid", "--workers", 2, "--platform", PLATFORM, "--blocks",
                        4, "--epochs", 4, "--minibatch", 16, "--strategy", strategy, "--learning-rate", "0.1", "--quiet")
            self.assertEqual(self.manifest(f"{number}-s1")["result"]["parameters_sha256"], weights(alone))

    def test_wrong_input_is_refused_in_one_sentence(self):
        for options, words, *parts in (
            ({"lerning-rate": "0.1"}, (), "line", "'lerning-rate'", "did you mean learning-rate?"),
            ({"seed": "[1, 2]"}, (), "'seed' is set by the search", "--seeds"),
            ({"out": "x"}, (), "'out' is set by the search", "--out"),
            ({"config": "x"}, (), "'config' is set by the search"),
            ({"quiet": "true"}, (), "'quiet' is set by the search"),
            ({"host-threads": "2"}, (), "'host-threads' is set by the search", "--host-threads"),
            ({}, ("--command", "train", "--host-threads", "2"), "--host-threads", "--command simulate"),
            ({"learning-rate": '"1..0.1"'}, (), "--learning-rate", "empty"),
            ({"learning-rate": '"0..0.1 log"'}, (), "--learning-rate", "logarithm"),
            ({"learning-rate": "[]"}, (), "--learning-rate", "empty list"),
            ({}, ("--draws", "3"), "--draws", "range"),
            ({}, ("--keep", "0.3"), "--keep", "--rungs"),
            ({}, ("--rungs", "3,2"), "--rungs"),
            ({}, ("--ranks", "2"), "--ranks", "--command train"),
            ({}, ("--seeds", "1,1"), "--seeds"),
            ({}, ("--measure", "accuracy"), "accuracy"),
            ({}, ("--command", "evaluate"), "evaluate"),
            ({}, ("--parts", "2"), "--parts", "--write-jobs"),
            ({}, ("--part", "5"), "no --part 5", "4 runs in 4 parts"),
            ({}, ("--part", "3", "--parts", "2"), "no --part 3", "4 runs in 2 parts"),
            ({}, ("--part", "1", "--parts", "5"), "has 4 runs, too few for --parts 5"),
            ({}, ("--part", "1", "--groups", "2"), "--groups", "--part"),
            ({}, ("--part", "1", "--only-rank"), "--only-rank", "--part"),
            ({}, ("--write-jobs=",), "--write-jobs needs a value"),
            ({}, ("--write-jobs", "x", "--only-rank"), "--only-rank", "--write-jobs"),
            ({}, ("--write-jobs", "x", "--part", "1"), "--part", "--write-jobs"),
            ({}, ("--write-jobs", "x", "--jobs", "2"), "--jobs", "--write-jobs"),
            ({}, ("--only-rank", "--host-threads", "2"), "--host-threads", "--only-rank"),
            ({}, ("--only-rank",), "holds no search"),
        ):
            with self.subTest(options=options, words=words):
                self.write(**options)
                self.assert_refused(run("search", self.file, "--out", self.out, *words), *parts)
        self.assert_refused(run("search", self.folder / "none.toml", "--out", self.out), "none.toml")
        self.assertFalse(self.out.exists())


if __name__ == "__main__":
    unittest.main()
