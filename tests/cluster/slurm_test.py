#!/usr/bin/env python3
"""Runs as jobs of Slurm. Where it can be started, on this machine alone, jobs are interrupted for real; elsewhere they are
written, read by bash and run without it, and the test says so."""

import os
import re
import signal
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "tests" / "app"), str(ROOT / "experiments" / "harness")]

from one_node_slurm import OneNodeSlurm, what_is_missing  # noqa: E402
from paragrad_cli import PLATFORM, PROGRAM, CliTest, FolderTest, run, weights  # noqa: E402
from slurm import array_file, job_file  # noqa: E402

MISSING = what_is_missing()
RESULT = "^test of .* error"  # what evaluate prints


class Jobs(CliTest):
    def options(self, epochs: int = 200, model: str = "8-64-64-6:sigmoid", minibatch: int = 16, rate: float = 0.1) -> list[str]:
        return ["--data", self.data, "--model", model, "--learning-rate", str(rate), "--epochs", str(epochs), "--blocks", "6",
                "--minibatch", str(minibatch), "--quiet", "--strategy", "bmuf"]

    def write_job(self, name: str, options: list[str], every: int = 2, ranks: int = 2) -> Path:
        out, job = self.folder / name, self.folder / f"{name}.sbatch"
        train = [PROGRAM, "train", *options, f"--out={out}", f"--checkpoint-every={every}", "--resume"]
        job.write_text(job_file(name, ranks, train, out, [[PROGRAM, "evaluate", str(out / "checkpoint.h5"), f"--data={self.data}"]]))
        return job

    def state(self, name: str) -> str:
        """Which state the run would go on from; empty: none."""
        try:
            return (self.folder / name / "state" / "latest.json").read_text()
        except OSError:
            return ""

    def test_a_job_file_is_a_script_that_runs_without_slurm_too(self):
        job = self.write_job("plain", self.options(epochs=2))
        done = subprocess.run(["bash", job], env=os.environ | {"PARAGRAD_INSIDE": "env"}, capture_output=True, text=True,
                              timeout=60)
        emulated = run("simulate", "--workers", "2", "--platform", PLATFORM, *self.options(epochs=2))
        self.assertEqual(weights(done), weights(emulated))
        self.assertRegex(done.stdout.splitlines()[-1], RESULT)

    def test_a_task_of_an_array_is_the_job_of_its_run(self):
        names = ["first", "second"]
        for name, epochs in zip(names, (1, 2)):
            self.write_job(name, self.options(epochs=epochs))
        array = self.folder / "array of two.sbatch"
        array.write_text(array_file("two", 2, self.folder, [f"{name}.sbatch" for name in names]))
        for task, epochs in ((1, 1), (2, 2)):
            done = subprocess.run(["bash", array], env=os.environ | {"SLURM_ARRAY_TASK_ID": str(task)}, capture_output=True, text=True, timeout=60)
            emulated = run("simulate", "--workers", "2", "--platform", PLATFORM, *self.options(epochs=epochs))
            self.assertEqual(weights(done), weights(emulated))

    def test_a_task_of_an_array_returns_to_the_queue_under_its_own_number(self):
        """Without Slurm: an scontrol that records what it is asked."""
        asked = self.folder / "asked"
        for name, script in (("scontrol", f'#!/bin/sh\necho "$@" > {asked}\n'), ("mpiexec", "#!/bin/sh\nkill -USR1 $PPID\nexec /bin/sleep 1\n"),
                             ("sleep", "#!/bin/sh\nexit 0\n")):
            (self.folder / name).write_text(script)
            (self.folder / name).chmod(0o755)
        job = self.write_job("returning", self.options(epochs=1))
        job.write_text(job.read_text().replace('= "$before" ]', '= never ]'))  # as if a state had been saved
        for of_slurm, number in (({"SLURM_JOB_ID": "7"}, "7"), ({"SLURM_JOB_ID": "9", "SLURM_ARRAY_JOB_ID": "7", "SLURM_ARRAY_TASK_ID": "2"}, "7_2")):
            subprocess.run(["bash", job], env=os.environ | of_slurm | {"PATH": f"{self.folder}:{os.environ['PATH']}"}, capture_output=True, timeout=60)
            self.assertEqual(asked.read_text(), f"requeue {number}\n")

    @unittest.skipIf(MISSING, f"{MISSING}: no job was interrupted")
    def test_a_job_that_is_interrupted_ends_in_the_weights_of_one_that_is_not(self):
        whole = weights(run("simulate", "--workers", "2", "--platform", PLATFORM, *self.options()))
        with OneNodeSlurm(self.folder / "slurm") as slurm:
            number = slurm.submit(self.write_job("interrupted", self.options()))
            for interrupt in (["scontrol", "requeue", number],                   # a preemption, a node that is lost
                              ["scancel", "--batch", "--signal=USR1", number]):  # shortly before the time limit
                before = self.state("interrupted")
                slurm.wait_for(lambda: self.state("interrupted") not in ("", before), "another state")
                slurm.run(*interrupt)
                slurm.start_again(number)
            end = slurm.end_of(number)
        log = (self.folder / "interrupted.log").read_text()
        self.assertEqual((end["JobState"], end["Restarts"]), ("COMPLETED", "2"), log)
        self.assertIn(f"weights sha256 {whole}\n", log)
        self.assertRegex(log.splitlines()[-1], RESULT)

    @unittest.skipIf(MISSING, f"{MISSING}: no array was submitted")
    def test_tasks_of_an_array_that_are_interrupted_end_in_the_weights_of_runs_that_are_not(self):
        names = {"requeued": 0.1, "signalled": 0.2}
        for name, rate in names.items():
            self.write_job(name, self.options(rate=rate, epochs=300), ranks=1)  # both at once, on two cores
        array = self.folder / "runs.sbatch"
        array.write_text(array_file("runs", 1, self.folder, [f"{name}.sbatch" for name in names]))
        with OneNodeSlurm(self.folder / "slurm-runs") as slurm:
            number = slurm.submit(array)
            for name in names:
                slurm.wait_for(lambda name=name: self.state(name), "a state")
            slurm.run("scontrol", "requeue", f"{number}_1")  # a preemption, a node that is lost
            slurm.signal_batch_shell(f"{number}_2", signal.SIGUSR1)  # shortly before the time limit
            for task in (1, 2):
                slurm.start_again(f"{number}_{task}")
            ends = [slurm.end_of(f"{number}_{task}") for task in (1, 2)]
        for task, ((name, rate), end) in enumerate(zip(names.items(), ends), start=1):
            log = (self.folder / f"runs-{task}.log").read_text()
            self.assertEqual((end["JobState"], end["Restarts"]), ("COMPLETED", "1"), log)
            emulated = run("simulate", "--workers", "1", "--platform", PLATFORM, *self.options(rate=rate, epochs=300))
            self.assertIn(f"weights sha256 {weights(emulated)}\n", log)

    @unittest.skipIf(MISSING, f"{MISSING}: no job was interrupted")
    def test_a_job_without_a_checkpoint_fails_instead_of_coming_back_forever(self):
        slow = self.options(model="8-2048-2048-6:sigmoid", minibatch=1)
        with OneNodeSlurm(self.folder / "slurm-stuck") as slurm:
            number = slurm.submit(self.write_job("stuck", slow, every=1000))
            slurm.wait_for((self.folder / "stuck" / "manifest.json").exists, "the run to start")
            slurm.run("scancel", "--batch", "--signal=USR1", number)
            end = slurm.end_of(number)
        self.assertEqual((end["JobState"], end["Restarts"]), ("FAILED", "0"))
        self.assertIn("no checkpoint was written", (self.folder / "stuck.log").read_text())

    @unittest.skipIf(MISSING, f"{MISSING}: no ranks were started by srun")
    def test_ranks_that_srun_starts_end_in_the_weights_of_emulated_workers(self):
        options = self.options(epochs=2)
        emulated = weights(run("simulate", "--workers", "2", "--platform", PLATFORM, *options))
        with OneNodeSlurm(self.folder / "slurm-srun") as slurm:
            srun = lambda mpi, program: subprocess.run(["srun", f"--mpi={mpi}", "-n", "2", program, "train", *options], env=slurm.environment,
                                                       capture_output=True, text=True, timeout=60)
            self.assertEqual(weights(srun("pmi2", PROGRAM)), emulated, "MPICH")
            if over_open_mpi := os.environ.get("PARAGRAD_OVER_OPEN_MPI"):
                self.assertEqual(weights(srun("pmix", over_open_mpi)), emulated, "Open MPI")
            wrong = srun("pmix", PROGRAM)
        self.assertNotEqual(wrong.returncode, 0, wrong.stdout)
        self.assertIn("2 ranks were started, but each finds itself alone", wrong.stderr)

    @unittest.skipIf(MISSING, f"{MISSING}: no array was submitted")
    def test_a_search_as_a_job_array_ranks_what_a_local_search_ranks(self):
        file, array = self.folder / "space.toml", self.folder / "array"
        file.write_text(f'data = "{self.data}"\nmodel = "8-64-64-6:sigmoid"\nworkers = 2\nplatform = "{PLATFORM}"\nblocks = 6\nepochs = 100\n'
                        'minibatch = 16\nstrategy = "bmuf"\nlearning-rate = [0.1, 0.2]\ncheckpoint-every = 6\n')

        def search(out: Path, *words: object) -> list[str]:
            done = run("search", file, "--out", out, *words)
            self.assertEqual(done.returncode, 0, done.stderr)
            lines = done.stdout.splitlines()
            return lines[next((i for i, line in enumerate(lines) if line.startswith("run ")), 0):-1]

        search(array, "--write-jobs", self.folder / "array.sbatch")
        with OneNodeSlurm(self.folder / "slurm-array") as slurm:
            number = slurm.submit(self.folder / "array.sbatch")
            for run_name in ("001-s1", "002-s1"):
                slurm.wait_for(lambda name=run_name: self.state(f"array/{name}"), "a state")
            slurm.run("scontrol", "requeue", f"{number}_1")  # a preemption, a node that is lost
            slurm.signal_batch_shell(f"{number}_2", signal.SIGUSR1)  # shortly before the time limit
            for task in (1, 2):
                slurm.start_again(f"{number}_{task}")
            ends = [slurm.end_of(f"{number}_{task}") for task in (1, 2)]
        logs = "".join(path.read_text() for path in sorted(self.folder.glob("array-*.log")))
        self.assertEqual([(end["JobState"], end["Restarts"]) for end in ends], [("COMPLETED", "1")] * 2, logs)
        self.assertEqual(search(array), search(self.folder / "local"))


def harness(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, ROOT / "experiments/harness", "--program", PROGRAM, *arguments], capture_output=True,
                          text=True, cwd=ROOT)


class Submission(FolderTest):
    def jobs_of(self, file: Path) -> set[Path]:
        """Of an array, those of its tasks, which have as many ranks; of another, itself."""
        def ranks(job):
            return re.search("--ntasks=(.*)", job.read_text())[1]
        found = re.search(r"^runs=\((.*)\)$", text := file.read_text(), re.MULTILINE)
        if found is None:
            return {file}
        tasks = [file.parent / name for name in found[1].split()]
        self.assertIn(f"#SBATCH --array=1-{len(tasks)}\n", text)
        self.assertEqual({ranks(task) for task in tasks}, {ranks(file)})
        return set(tasks)

    def test_runs_without_an_initial_model_are_an_array_for_each_number_of_ranks(self):
        written = harness("jobs", "outer_momentum", "--size", "full")
        self.assertEqual(written.returncode, 0, written.stderr)
        script = ROOT / re.search(r"sh (\S+/submit\.sh)", written.stdout)[1]
        lines = [line for line in script.read_text().splitlines() if line.startswith("sbatch")]
        submitted = [self.jobs_of(script.parent / line.split()[-1]) for line in lines]
        self.assertEqual(set().union(*submitted), set(script.parent.glob("*-s[0-9].sbatch")))
        self.assertGreater(len(set().union(*submitted)), 5 * len(lines))
        self.assertNotIn("dependency", script.read_text())

    def test_the_runs_of_an_experiment_are_submitted_after_the_one_that_makes_their_initial_model(self):
        sbatch = self.folder / "sbatch"
        sbatch.write_text('#!/bin/sh\necho "$@" >> "$SUBMITTED"\necho "7;cluster"\n')
        sbatch.chmod(0o755)
        for experiment in ("bmuf_dnn", "bmuf_dblstm_csc", "bmuf_dblstm_epochwise"):
            with self.subTest(experiment=experiment):
                written = harness("jobs", experiment, "--size", "full")
                self.assertEqual(written.returncode, 0, written.stderr)
                script = ROOT / re.search(r"sh (\S+/submit\.sh)", written.stdout)[1]
                record = self.folder / experiment
                subprocess.run(["sh", script, "--partition=gpu"], check=True, stdout=subprocess.DEVNULL, env=os.environ | {
                    "PATH": f"{self.folder}:{os.environ['PATH']}", "SUBMITTED": str(record)})
                first, *others = record.read_text().splitlines()
                self.assertRegex(first, r"^--parsable --partition=gpu \S+-initial-s1\.sbatch$")
                submitted = {script.parent / first.split()[-1]}
                for line in others:
                    self.assertRegex(line, r"^--dependency=afterok:7 --kill-on-invalid-dep=yes --partition=gpu \S+\.sbatch$")
                    submitted |= self.jobs_of(script.parent / line.split()[-1])
                self.assertEqual(submitted, set(script.parent.glob("*-s[0-9].sbatch")), "each run once, in an array of its number of ranks")
                for job in script.parent.iterdir():
                    self.assertEqual(subprocess.run(["bash", "-n", job]).returncode, 0)

    def test_an_experiment_without_trainings_has_no_jobs(self):
        done = harness("jobs", "ring_limit")
        self.assertEqual((done.returncode, done.stderr),
                         (2, "harness: ring_limit only predicts times: there is nothing to run with MPI\n"))


if __name__ == "__main__":
    unittest.main(verbosity=2)  # names what was left out, and why
