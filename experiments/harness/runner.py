"""Executes the runs not yet done with the same options, program and data, several at a time."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Callable, Iterator, TypeVar

from config import ROOT, DataSet, Experiment, Options, UserError, any_of
from grammar import unknown
from launching import Cost, cost_of, ended, has_result, note, processor, run_command
from plan import Job, Plan, key_in
from records import write_json

SOURCES = ("*.cpp", "*.hpp", "*.def", "*.cu")
FILE_OPTIONS = ("data", "platform", "platforms", "init", "model", "time-as", "replay")
SIMULATION_OPTIONS = ("workers", "platform", "network", "host-threads", "oversubscribe", "nodes", "devices-per-node", "device-rate",
                      "io", "fast-collectives")  # that `train` does not have


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def files_of(options: Options) -> Iterator[tuple[str, Path]]:
    """The files that a run reads, by option; in a search an option may have several values."""
    for name in FILE_OPTIONS:
        values = options.get(name, "")
        if name == "platforms":
            values = str(values).split(",")
        for value in values if isinstance(values, list) else [values]:
            if (path := place_of(name, str(value))).is_file():
                yield name if value == values else f"{name} {value}", path


def place_of(option: str, value: str) -> Path:
    """Where the file is if the value names one."""
    path = ROOT / value.removeprefix("file:")  # with which a model names one
    built_in = ROOT / "sim/platforms" / f"{value}.toml"
    return built_in if option.startswith("platform") and not path.exists() else path


@cache
def program_identity(program: Path) -> str:
    """A hash of all that a result depends on: the sources' content (not the commit, which a README changes) and the compiler."""
    total = hashlib.sha256()
    for folder in ("src", "sim"):
        for path in sorted(path for pattern in SOURCES for path in (ROOT / folder).rglob(pattern)):
            total.update(f"{path.relative_to(ROOT)} {digest(path)}\n".encode())
    total.update((ROOT / "CMakeLists.txt").read_bytes())
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
    total.update(re.sub(r"commit \w+( with changes)?", "", version).encode())
    return total.hexdigest()


def arguments(options: Options) -> list[str]:
    def text(value: Any) -> str:
        return str(value).lower() if isinstance(value, bool) else str(value)

    return [f"--{key}={text(value)}" for key, value in options.items()]


def known_options(program: Path, command: str) -> list[str]:
    """The options of a command of the program, without leading dashes."""
    done = subprocess.run([program, "help", command, "--format", "json"], capture_output=True, text=True, check=False)
    return [option["name"] for option in json.loads(done.stdout)[-1]["options"]] if done.returncode == 0 else []


def search_command(program: Path, options: Options, folder: Path) -> list[Any]:
    """The command of a `paragrad search` in the folder, without options of its own. options: of its runs; written to a file next to the folder,
    in which a list is a grid and a text such as "0.01..1 log" a range to draw from."""
    file = folder.with_name(folder.name + ".toml")
    file.write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in options.items()))
    return [program, "search", file, f"--out={folder.relative_to(ROOT)}"]


def check_options(experiment: Experiment, program: Path) -> None:
    """Checks the options of all runs, and of the steps before and after them, before the first run starts."""
    used = {run.command: run.options.keys() | {} for run in experiment.runs}
    for run in experiment.runs:
        used[run.command] |= run.options.keys()
    if experiment.runs:
        first = used[experiment.runs[0].command]
        first |= {key for data in experiment.data for key in data.options} | (experiment.initial or {}).keys()
        first |= {experiment.tune["option"]} if experiment.tune else set()
    used |= {command: set(options) for command, options in experiment.after.items()}
    for command, keys in used.items():
        known = known_options(program, command) + (known_options(program, "simulate") if command == "search" else [])
        for key in sorted(keys):
            if key not in known:
                raise UserError(f"experiments/{experiment.name}/config.toml: {unknown(f'`paragrad {command}` has no option', key, known)}")


Task = TypeVar("Task")
Outcome = TypeVar("Outcome")


def in_parallel(jobs: int, execute: Callable[[Task], Outcome], tasks: list[Task]) -> Iterator[tuple[Task, Outcome]]:
    """Executes the tasks, `jobs` at a time, and yields each with its outcome when it is over. If the loop over them is left, by an
    interruption too, those that wait do not begin."""
    with ThreadPoolExecutor(jobs) as pool:
        try:
            running = {pool.submit(execute, task): task for task in tasks}
            for done in as_completed(running):
                yield running[done], done.result()
        finally:
            pool.shutdown(cancel_futures=True)


class Runner(Plan):
    def __init__(self, experiment: Experiment, program: Path, jobs: int, data: str = "*") -> None:
        """data: a pattern of the data sets to process."""
        super().__init__(experiment)
        self.chosen_data = [one for one in experiment.data if any_of([data], one.name)]
        if not self.chosen_data:
            known = ", ".join(one.name for one in experiment.data)
            raise UserError(f"{experiment.name} has no data set '{data}' in size {experiment.size}; known: {known}")
        if not (program.is_file() and os.access(program, os.X_OK)):
            raise UserError(f"there is no program {program}: build it with make build")
        self.program = program.resolve()
        check_options(experiment, self.program)
        self.jobs = max(jobs, 1)
        self.host_threads = max((os.cpu_count() or 1) // self.jobs, 1)  # of a run of `simulate`
        self.own_options = {"simulate": [f"--host-threads={self.host_threads}", "--quiet"]}  # by command; they change no result
        self.identity = program_identity(program)
        self.found: list[DataSet] | None = None
        self.file_digests: dict[Path, str] = {}
        self.held: tuple[int, ...] = ()  # descriptors of the locks that the runs inherit
        self.spent_s = 0.0  # core-seconds of what this object has run

    def lock(self, wait: bool = True) -> bool:
        """Keeps two harnesses from writing the same runs. The runs inherit the lock: should this harness be killed, the next one waits until
        they are over. Without `wait`: whether no other harness or run has it."""
        self.experiment.runs_folder.mkdir(parents=True, exist_ok=True)
        file = os.open(self.experiment.runs_folder / ".lock", os.O_WRONLY | os.O_CREAT)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            os.close(file)
            return False
        self.held = (file,)
        return True

    def unlock(self) -> None:
        for file in self.held:
            os.close(file)
        self.held = ()

    @contextmanager
    def locked(self) -> Iterator[None]:
        self.lock()
        try:
            yield
        finally:
            self.unlock()

    def data_sets(self) -> list[DataSet]:
        """The available data sets among the chosen ones. A missing required one is made by its recipe data/<name>.sh."""
        if self.found is None:
            self.found = []
            for data in self.chosen_data:
                if all(there.name != data.instead_of for there in self.found) and self.find(data):
                    self.found.append(data)
        return self.found

    def find(self, data: DataSet) -> bool:
        path = ROOT / data.file
        if not data.file or path.exists():
            return True
        if data.optional:
            print(f"{data.name}: left out, there is no {data.file} (make data-{data.name})")
            return False
        if why := self.obtain(data):
            raise UserError(why)
        return True

    def obtain(self, data: DataSet) -> str:
        """Makes the data file by its recipe if it is missing; returns why it is not there, or ""."""
        path = ROOT / data.file
        recipe = ROOT / "data" / f"{path.stem}.sh"
        if data.file and not path.exists() and recipe.exists():
            with recipe.open() as file:
                fcntl.flock(file, fcntl.LOCK_EX)  # another harness may be making it
                if not path.exists():
                    process = subprocess.Popen([recipe], cwd=ROOT, env=os.environ | {"PARAGRAD": str(self.program)}, pass_fds=[file.fileno()])
                    self.spent_s += ended(process)
        return "" if not data.file or path.exists() else f"there is no data file {data.file}: make it with make data-{data.name}"

    def key(self, job: Job) -> dict[str, Any]:
        """Identifies the run; files are identified by content, not by name."""
        files = {name: self.digest(path) for name, path in files_of(job.options)}
        files |= {f"{command} {name}": self.digest(path) for command, options in job.after.items() for name, path in files_of(options)}
        marks = {"stale": list(job.marks)} if job.marks else {}
        return {"command": job.command, "options": job.options, "program": self.identity, "files": files} | marks | job.after

    def digest(self, path: Path) -> str:
        if path not in self.file_digests:
            self.file_digests[path] = digest(path)
        return self.file_digests[path]

    def has_key(self, file: Path, job: Job) -> bool:
        return key_in(file) == self.key(job)

    def is_done(self, job: Job) -> bool:
        return self.has_key(job.key_file, job) and (job.folder / "manifest.json").exists()

    def execute(self, job: Job) -> str:
        """Executes the run, or resumes it if it was interrupted on a processor of this model and has saved a state; returns the program's
        error message, or ""."""
        job.folder.parent.mkdir(parents=True, exist_ok=True)
        job.key_file.unlink(missing_ok=True)
        begun = self.key(job) | {"processor": processor()}
        goes_on = key_in(job.begun_file) == begun
        is_over = goes_on and job.command != "search" and has_result(job.folder)  # it has outlived its harness
        resumes = goes_on and (job.command == "search" or (job.folder / "state").exists())
        if not (is_over or resumes):
            shutil.rmtree(job.folder, ignore_errors=True)  # so that what is there from now on is this run's
        write_json(job.begun_file, begun)
        complaint, cost = "", cost_of(job.folder) if is_over or resumes else Cost()
        commands = [] if is_over else [self.command(job, resumes)]
        for command in [*commands, *self.commands_after(job, job.folder)]:
            before, (complaint, cost) = cost, run_command(command, job.folder, cost, self.held)
            self.spent_s += cost.core_s - before.core_s
            if complaint:
                break
        note(job.folder, cost)
        if not complaint:
            write_json(job.key_file, self.key(job))
            job.begun_file.unlink()
        return complaint

    def command(self, job: Job, resumes: bool) -> list[Any]:
        if job.command == "search":
            return self.search(job)
        return [self.program, job.command, *arguments(job.options), *self.own_options.get(job.command, []),
                "--resume" if resumes else "--overwrite", f"--out={job.folder.relative_to(ROOT)}"]

    def search(self, job: Job) -> list[Any]:
        """The command of a run that is a search."""
        own = known_options(self.program, "search")
        words = {key: value for key, value in job.options.items() if key in own}
        options = {key: value for key, value in job.options.items() if key not in own}
        return [*search_command(self.program, options, job.folder), "--jobs=1", f"--host-threads={self.host_threads}", *arguments(words)]

    def commands_after(self, job: Job, folder: Path) -> list[list[str]]:
        """What follows the run, with the checkpoint in the folder, or with the folder itself; each command writes a JSON file with its name there."""
        shared = {name: job.options[name] for name in ("data", "context", "chunks") if name in job.options}

        def of(command: str, options: Options) -> list[str]:
            if command == "retime":
                return [str(folder), *arguments(options)]
            return [str(folder / "checkpoint.h5"), *arguments(shared | options)]

        return [[str(self.program), command, *of(command, options), f"--result={folder / f'{command}.json'}"]
                for command, options in job.after.items()]

    def run_jobs(self, jobs: list[Job], failures_allowed: bool = False,
                 finished: Callable[[Job, str], None] = lambda job, complaint: None) -> dict[str, str]:
        """Executes the missing jobs; returns error messages by label. `finished` is called in this thread for every job, once it
        is done, with its error message or ""."""
        missing = [job for job in jobs if not self.is_done(job)]
        for job in jobs:
            if job not in missing:
                finished(job, "")
        complaints = {}
        for count, (job, complaint) in enumerate(in_parallel(self.jobs, self.execute, missing), 1):
            print(f"[{count}/{len(missing)}] {job.label}{': ' + complaint if complaint else ''}", flush=True)
            if complaint:
                complaints[job.label] = complaint
            if complaint and not failures_allowed:
                raise UserError(f"{job.label}: {complaint}")
            finished(job, complaint)
        return complaints

    def run_initial(self, seeds: list[int]) -> None:
        jobs = [self.initial_job(data, seed) for data in self.data_sets() for seed in seeds]
        self.run_jobs([job for job in jobs if job is not None])

    def run_all(self) -> None:
        with self.locked():
            self.run_initial(self.experiment.seeds)
            self.run_jobs([self.job(data, run, seed) for data in self.data_sets() for seed in self.experiment.seeds
                           for run in self.experiment.runs])
