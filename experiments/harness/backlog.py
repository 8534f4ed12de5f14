"""What `queue` has to record: which runs of all experiments have no record that can be used, why, and in which order."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Iterator

from claim_lock import check_committed
from config import EXPERIMENTS, Experiment, UserError, names, read_toml
from judging import data_sets, verdicts_of
from loading import load
from plan import Plan
from records import AT_LEAST, CORE_S, Record, RecordedRun, State, lacking, recorded_metrics, recorded_runs

GUESS_S, GUESS_OF_TIMES_S = 300, 5  # core-seconds of a run if nothing of its experiment has costs; of one that only predicts times
RETIRING = EXPERIMENTS / "retiring.toml"
GPU = Path("/dev/nvidia0")


@dataclass(frozen=True)
class Task:
    """A run to record."""

    experiment: Experiment
    one: RecordedRun
    metrics: tuple[str, ...]
    state: State  # that decides the order
    why: str

    @property
    def label(self) -> str:
        return f"{self.experiment.name} {self.one.data.name} {self.one.run.name} seed {self.one.seed}"

    @property
    def group(self) -> tuple[str, str]:
        return self.experiment.name, self.one.data.name


class Costs:
    """What runs of an experiment have taken, by its records, in core-seconds."""

    def __init__(self, experiment: Experiment) -> None:
        self.known: dict[tuple[str, str], list[tuple[bool, float]]] = {}  # by data set and run: whether that is all, and what
        of_size = Record(experiment.expected_file).read().get(experiment.size, {})
        for data, runs in of_size.items():
            for run, seeds in runs.items():
                for values in seeds.values():
                    self.add(data, run, values)

    def add(self, data: str, run: str, values: dict[str, Any]) -> None:
        if CORE_S in values:
            self.known.setdefault((data, run), []).append((not values.get(AT_LEAST, False), values[CORE_S]))

    def expected(self, task: Task) -> tuple[float, str]:
        """And by what: the same run, its group, the experiment, or a guess."""
        data, run = task.one.data.name, task.one.run.name
        for source, keys in (("", [(data, run)]), ("by others on these data", [key for key in self.known if key[0] == data]),
                             ("by others of this experiment", list(self.known))):
            if found := [cost for key in keys for cost in self.known.get(key, [])]:
                whole = [core_s for is_whole, core_s in found if is_whole]
                return (statistics.median(whole) if whole else max(core_s for _, core_s in found)), source
        options = task.one.run.options | task.one.run.own
        trains = task.one.run.command in ("simulate", "train", "search") and not str(options.get("device", "")).startswith("meta")
        return (GUESS_S if trains else GUESS_OF_TIMES_S), "guessed"


@dataclass
class Group:
    """The tasks of one experiment on one data set, in their order."""

    tasks: list[Task]
    claims: int = 0      # undecided or open ones about its runs
    core_s: float = 0    # expected
    sources: set[str] = field(default_factory=set)  # of what is expected; "": the runs themselves
    last: bool = False   # the experiment will be replaced

    @property
    def name(self) -> str:
        return " ".join(self.tasks[0].group)

    @property
    def claims_per_hour(self) -> float:
        return self.claims / max(self.core_s / 3600, 1e-9)


@dataclass(frozen=True)
class Backlog:
    groups: list[Group]       # most valuable first
    left_out: dict[str, str]  # by experiment, or experiment and data set: why its runs cannot be recorded here

    @property
    def tasks(self) -> list[Task]:
        return [task for group in self.groups for task in group.tasks]


def backlog(chosen: list[str]) -> Backlog:
    """Of the size for one machine of each experiment."""
    groups: list[Group] = []
    left_out: dict[str, str] = {}
    fates = retiring()
    for name in chosen:
        try:
            experiment = load(name, "")
            wanted = list(tasks_of(experiment, left_out)) if experiment.size != "smoke" else []
            if wanted:
                check_committed(name, quiet=True)
                groups += groups_of(experiment, wanted, last=fates.get(name, ("", ""))[0] in ("remove", "replace"))
        except UserError as error:
            left_out[name] = str(error)
    groups.sort(key=lambda group: (group.last, -group.claims_per_hour, min(list(State).index(task.state) for task in group.tasks)))
    return Backlog(groups, left_out)


def tasks_of(experiment: Experiment, left_out: dict[str, str]) -> Iterator[Task]:
    metrics, plan, here = recorded_metrics(experiment), Plan(experiment), [data.name for data in data_sets(experiment)]
    for one in recorded_runs(experiment):
        missing = lacking(one, metrics[one.run.name])
        if one.data.name not in here or one.state is State.CURRENT and not missing:
            continue
        if why := cannot_run(experiment, plan, one):
            left_out[f"{experiment.name} {one.data.name} {one.run.name}"] = why
            continue
        if one.state.is_used and missing:  # a claim may wait for it
            before = "recorded" if one.state is State.CURRENT else f"{one.state.value} and"
            state, why = State.MISSING, f"{before} without {', '.join(missing)}"
        else:
            state, why = one.state, one.why
        yield Task(experiment, one, tuple(metrics[one.run.name]), state, why)


def cannot_run(experiment: Experiment, plan: Plan, one: RecordedRun) -> str:
    """Why the run cannot be made here; "" if it can."""
    try:
        job = plan.job(one.data, one.run, one.seed)
    except UserError:
        return f"its {experiment.tune.get('option')} is not tuned: make tune-{experiment.name}"
    return "needs a GPU" if str(job.options.get("device", "")).startswith("cuda") and not GPU.exists() else ""


def groups_of(experiment: Experiment, tasks: list[Task], last: bool) -> Iterator[Group]:
    costs, states = Costs(experiment), list(State)
    runs, seeds = [run.name for run in experiment.runs], experiment.seeds
    verdicts = [verdict for verdict in verdicts_of(experiment) if verdict.verdict in ("open", "undecided")]
    for data in experiment.data:
        of_data = [task for task in tasks if task.one.data.name == data.name]
        if not of_data:
            continue
        of_data.sort(key=lambda task: (states.index(task.state), seeds.index(task.one.seed), runs.index(task.one.run.name)))
        expected = [costs.expected(task) for task in of_data]
        about = {task.one.run.name for task in of_data}
        yield Group(of_data, sum(bool(verdict.runs & about) for verdict in verdicts if verdict.data in ("", data.name)),
                    sum(core_s for core_s, _ in expected), {source for _, source in expected}, last)


def retiring() -> dict[str, tuple[str, str]]:
    """Experiments that will be merged into another one, replaced or removed: which of these, and the reason."""
    if not RETIRING.exists():
        return {}
    found, where = {}, f"experiments/{RETIRING.name}"
    for name, entry in read_toml(RETIRING).items():
        if name not in names():
            raise UserError(f"{where}: there is no experiment '{name}'")
        fate = next(iter(entry.keys() - {"why"}), "")
        if entry.keys() != {fate, "why"} or fate not in ("merge", "replace", "remove"):
            raise UserError(f"{where}: [{name}] needs 'why', and one of 'merge', 'replace' and 'remove'")
        found[name] = fate, f"{entry[fate]}: {entry['why']}" if fate != "remove" else entry["why"]
    return found


def print_backlog(found: Backlog, budget_s: float) -> None:
    total_s, fits = sum(group.core_s for group in found.groups), 0.0
    count = len(found.tasks)
    print(f"{count} {'run is' if count == 1 else 'runs are'} to be recorded, which may take {hours(total_s)}; the budget is {hours(budget_s)}")
    for place, group in enumerate(found.groups, 1):
        beyond = fits >= budget_s
        fits += group.core_s
        guesses = ", ".join(sorted(filter(None, group.sources)))
        claims = f"{group.claims} open or undecided claim{'' if group.claims == 1 else 's'}"
        print(f"\n{place}. {group.name}: {len(group.tasks)} run{'' if len(group.tasks) == 1 else 's'}, {hours(group.core_s)}"
              f"{f' ({guesses})' if guesses else ''}, {claims}{', to be replaced' if group.last else ''}{'; beyond the budget' if beyond else ''}")
        print("\n".join(reasons(group)))
    if found.left_out:
        print("\nleft out:")
    for what, why in collapsed(found.left_out):
        print(f"   {what}: {why}")


def reasons(group: Group) -> Iterator[str]:
    by_reason: dict[str, dict[str, list[int]]] = {}
    for task in group.tasks:
        by_reason.setdefault(task.why, {}).setdefault(task.one.run.name, []).append(task.one.seed)
    for why, runs in by_reason.items():
        seeds = {tuple(of_run) for of_run in runs.values()}
        words = [run if len(seeds) == 1 else f"{run} ({', '.join(map(str, of_run))})" for run, of_run in runs.items()]
        shown = ", ".join(words[:12]) + (f" and {len(words) - 12} more" if len(words) > 12 else "")
        shared = f", seeds {', '.join(map(str, seeds.pop()))}" if len(seeds) == 1 else " (seeds)"
        yield f"   {why}: {shown}{shared}"


def collapsed(left_out: dict[str, str]) -> Iterator[tuple[str, str]]:
    """One line per reason and experiment."""
    runs: dict[tuple[str, str], list[str]] = {}
    for what, why in left_out.items():
        runs.setdefault((what.split(" ")[0], why), []).append(what)
    for (name, why), whats in runs.items():
        yield (whats[0] if len(whats) == 1 else f"{name} ({len(whats)} runs)"), why


def hours(core_s: float) -> str:
    return f"{core_s / 3600:.2f} core-hours"
