"""Records what `backlog` has found, most valuable first, within a budget. It may be killed at any moment: what a run has saved, finished or
recorded is there at the next start."""

from __future__ import annotations

import fcntl
import os
import threading
import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable, Iterator

from backlog import Backlog, Costs, Task, backlog, hours, print_backlog
from claim_lock import check_committed
from commits import EVERY_S, Committer, commit_leftovers
from config import EXPERIMENTS, Experiment, UserError
from plan import Job
from recording import put
from records import lacking, recorded_runs
from runner import Runner

BUDGET_HOURS = 1.0
LIST = "`queue --list`"


def work_off(names: list[str], program: Path, jobs: int, budget_s: float, only_list: bool) -> bool:
    """Whether every run that was begun is recorded and committed."""
    if only_list:
        print_backlog(backlog(names), budget_s)
        return True
    with alone():
        complaints = commit_leftovers()
        return Queue(backlog(names), program, max(jobs, 1), budget_s, complaints).work()


@contextmanager
def alone() -> Iterator[None]:
    """Waits for another queue of this copy of the source."""
    folder = os.open(EXPERIMENTS, os.O_RDONLY)
    try:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("waiting for another queue that is at work here", flush=True)
            fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


class Desk:
    """What the queue needs to run and record an experiment."""

    def __init__(self, experiment: Experiment, program: Path, jobs: int) -> None:
        check_committed(experiment.name, quiet=True)
        self.experiment = experiment
        self.runner = Runner(experiment, program, jobs)
        self.committer = Committer(experiment.name)
        self.initial: dict[Path, str | None] = {}  # by folder of an initial model: None if it has not run yet, or its error message
        self.starting = threading.Lock()

    def execute(self, task: Task) -> str:
        """Runs it, after the run whose model it starts from; returns the program's error message, or ""."""
        initial = self.runner.initial_job(task.one.data, task.one.seed)
        if initial is not None:
            with self.starting:
                if self.initial.get(initial.folder) is None:
                    self.initial[initial.folder] = self.run(initial)
            if complaint := self.initial[initial.folder]:
                return f"its initial model: {complaint}"
        return self.run(self.job(task))

    def job(self, task: Task) -> Job:
        return self.runner.job(task.one.data, task.one.run, task.one.seed)

    def run(self, job: Job) -> str:
        return "" if self.runner.is_done(job) else self.runner.execute(job)

    def record(self, task: Task) -> dict[str, Any]:
        """Returns what is recorded."""
        one = task.one
        self.committer.expect(f"{one.data.name} {one.run.name} seed {one.seed}")
        put(self.runner, one, self.job(task), list(task.metrics))
        now = next(each for each in recorded_runs(self.experiment) if (each.data, each.run, each.seed) == (one.data, one.run, one.seed))
        if missing := lacking(now, list(task.metrics)):
            raise UserError(f"the run has no {', '.join(missing)}")
        return now.values


class Queue:
    def __init__(self, found: Backlog, program: Path, jobs: int, budget_s: float, complaints: list[str]) -> None:
        self.found, self.program, self.jobs, self.budget_s = found, program, jobs, budget_s
        self.pending = {task.label: task for task in found.tasks}
        self.costs = {task.experiment.name: Costs(task.experiment) for task in {task.experiment.name: task for task in found.tasks}.values()}
        self.desks: dict[str, Desk | None] = {}  # None: it cannot be run
        self.running: dict[Future[str], tuple[Task, float]] = {}
        self.data: dict[tuple[str, str], bool] = {}  # by group: whether its data file is here
        self.recorded = 0
        self.complaints = complaints
        self.is_blocked = False

    @property
    def opened(self) -> list[Desk]:
        return [desk for desk in self.desks.values() if desk is not None]

    @property
    def spent_s(self) -> float:
        return sum(desk.runner.spent_s for desk in self.opened)

    def expected(self, task: Task) -> float:
        return self.costs[task.experiment.name].expected(task)[0]

    def work(self) -> bool:
        print(f"{len(self.pending)} runs to record, budget {hours(self.budget_s)}", flush=True)
        with ThreadPoolExecutor(self.jobs) as pool:
            try:
                while self.fill(pool):
                    over, _ = wait(self.running, timeout=EVERY_S, return_when=FIRST_COMPLETED)
                    for future in over:
                        self.finish(future)
                    self.commit()
            finally:
                pool.shutdown(cancel_futures=True)
        for desk in self.opened:
            desk.runner.unlock()
            if complaint := desk.committer.commit():
                self.complain(complaint)
        left_s = sum(map(self.expected, self.pending.values()))
        print(f"recorded {self.recorded} runs in {hours(self.spent_s)}; {len(self.complaints)} failed; {len(self.pending)} are left, which may take "
              f"{hours(left_s)}" + (f"; some cannot be made here: {LIST} says why" if self.found.left_out else ""))
        for complaint in self.complaints:
            print(f"FAILED  {complaint}")
        return not self.complaints

    def fill(self, pool: ThreadPoolExecutor) -> bool:
        """Starts runs while there are cores and the budget allows; whether any is running."""
        told = False
        while True:
            while len(self.running) < self.jobs and (task := self.next_task()) is not None:
                self.running[pool.submit(self.desks[task.experiment.name].execute, task)] = task, self.expected(task)
            if self.running or not self.is_blocked:
                return bool(self.running)
            if not told:
                print("waiting for another harness, or for runs that have outlived one", flush=True)
                told = True
            time.sleep(0.5)

    def next_task(self) -> Task | None:
        """The first one that can begin now and fits into the budget."""
        self.is_blocked = False
        free_s = self.budget_s - self.spent_s - sum(expected for _, expected in self.running.values())
        for label, task in list(self.pending.items()):
            if label not in self.pending or self.expected(task) > free_s or (desk := self.desk(task.experiment)) is None:
                continue
            if not desk.runner.held:
                if not desk.runner.lock(wait=False):
                    self.is_blocked = True
                    continue
                self.drop_recorded(desk)
            if label in self.pending and self.has_data(task, desk):
                return self.pending.pop(label)
        return None

    def desk(self, experiment: Experiment) -> Desk | None:
        if experiment.name not in self.desks:
            self.desks[experiment.name] = None
            try:
                self.desks[experiment.name] = Desk(experiment, self.program, self.jobs)
            except UserError as error:
                self.drop(lambda task: task.experiment.name == experiment.name)
                self.complain(f"{experiment.name}: {error}")
        return self.desks[experiment.name]

    def drop(self, which: Callable[[Task], bool]) -> None:
        self.pending = {label: task for label, task in self.pending.items() if not which(task)}

    def complain(self, complaint: str) -> None:
        self.complaints.append(complaint)
        print(f"FAILED  {complaint}", flush=True)

    def drop_recorded(self, desk: Desk) -> None:
        """Another harness may have recorded some meanwhile."""
        name = desk.experiment.name
        left = {task.label for task in backlog([name]).tasks}
        self.drop(lambda task: task.experiment.name == name and task.label not in left)

    def has_data(self, task: Task, desk: Desk) -> bool:
        """Makes the data file if it is missing. Where it cannot be made, its runs are left out."""
        if task.group not in self.data:
            why = desk.runner.obtain(task.one.data)
            self.data[task.group] = not why
            if why:
                self.drop(lambda other: other.group == task.group)
            if why and task.one.data.optional:
                print(f"{' '.join(task.group)}: left out, {why}", flush=True)
            elif why:
                self.complain(f"{' '.join(task.group)}: {why}")
        return self.data[task.group]

    def finish(self, future: Future[str]) -> None:
        task, _ = self.running.pop(future)
        name, one = task.experiment.name, task.one
        desk = self.desks[name]
        try:
            if complaint := future.result():
                raise UserError(complaint)
            self.costs[name].add(one.data.name, one.run.name, desk.record(task))
            self.recorded += 1
            print(f"[{self.recorded}, {len(self.pending)} left] {task.label}: {task.why}", flush=True)
        except (UserError, OSError) as error:
            self.complain(f"{task.label}: {error}")
        if not any(other.experiment.name == name for other in [*self.pending.values(), *(running for running, _ in self.running.values())]):
            desk.committer.commit()
            desk.runner.unlock()

    def commit(self) -> None:
        """What has been recorded for a while. What Git refuses now is committed later."""
        for desk in self.opened:
            if desk.committer.is_due():
                desk.committer.commit()
