"""The commands run under faults and the required results: each target is one command with a check of what it leaves."""

from __future__ import annotations

import json
import shutil
import struct
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from faults import CLOCK_MODES, MODES, MORE_MODES, MORE_STATE_MODES, MPIEXEC, PLATFORM, PROGRAM, STATE_MODES, Call, Ended, launch, read_log, wrong_exit
from power_cut import Recording, read_journal, read_tree, write_tree


def data_generate(out: Path, *more: str) -> list[str]:
    return [PROGRAM, "data", "generate", "--out", str(out), "--samples", "60", "--valid", "20", "--test", "20", "--dim", "4",
            "--classes", "3", "--sequence-length", "10", *more]


def must(ended: Ended) -> Ended:
    if ended.code != 0:
        raise SystemExit(f"without a fault: {ended}")
    return ended


def printed(ended: Ended, beginning: str) -> str:
    return next((line for line in ended.out.splitlines() if line.startswith(beginning)), "")


def contents(file: Path) -> bytes | None:
    return file.read_bytes() if file.exists() else None


class Target:
    """A command on files in a folder. The same fault in the same target always has the same effect."""

    modes = MODES
    more_modes = MORE_MODES
    writes = True

    def __init__(self, name: str) -> None:
        self.name = name
        self.calls: list[Call] = []  # of the command without faults

    def prepare(self, folder: Path) -> None:
        """Prepares the input and the result without faults; `folder` is shared by all trials."""

    def trial(self, folder: Path, plan: str) -> str:
        """One sentence on what is wrong when the command meets the fault; "" if nothing is."""
        raise NotImplementedError

    @cached_property
    def recording(self) -> Recording:
        """Of the command without faults. Needs prepare()."""
        raise NotImplementedError

    def cut(self, folder: Path, cut: str) -> str:
        """One sentence on what is wrong after the power cut; "" if nothing is."""
        raise NotImplementedError

    @staticmethod
    def record(folder: Path, command: list[str]) -> Recording:
        journal = folder.with_name(folder.name + ".journal")
        before = read_tree(folder)
        must(launch(command, folder, f"journal={journal}"))
        return Recording(before, read_journal(journal, folder), read_tree(folder))

    def count(self, folder: Path, command: list[str], plan: str = "") -> Ended:
        log = folder.with_name(folder.name + ".log")
        ended = must(launch(command, folder, f"log={log} {plan}"))
        self.calls = read_log(log)
        return ended


class Training(Target):
    """A run with a run folder. It ends as without the fault, or does so after being resumed."""

    modes = STATE_MODES
    more_modes = MORE_STATE_MODES

    def __init__(self, name: str, options: str, workers: int = 2, ranks: int = 0, rank: int = 0,
                 model: str = "4-5-3:sigmoid") -> None:
        super().__init__(name)
        self.options = f"--model {model} --learning-rate 0.1 --blocks 2 --epochs 2 --minibatch 8 --quiet {options}".split()
        self.workers, self.ranks = workers, ranks
        self.rank = f"rank={rank} " if ranks else ""
        self.writes = rank == 0  # a power cut concerns all ranks

    def prepare(self, folder: Path) -> None:
        self.shared = folder
        self.data = folder / "data.h5"
        must(launch(data_generate(self.data), folder))
        whole = folder / "whole"
        self.weights = printed(self.count(whole, self.command(whole), self.rank), "weights")
        self.checkpoint = contents(whole / "checkpoint.h5")
        self.records = self.read_records(whole)

    def command(self, out: Path) -> list[str]:
        world = [MPIEXEC, "-n", str(self.ranks), PROGRAM, "train"] if self.ranks else \
            [PROGRAM, "simulate", "--workers", str(self.workers), "--platform", PLATFORM, "--host-threads", "1"]
        return [*world, *self.options, "--data", str(self.data), "--out", str(out), "--resume"]

    def trial(self, folder: Path, plan: str) -> str:
        out = folder / "run"
        self.begin(out)
        first = launch(self.command(out), out, self.rank + plan)
        if wrong := wrong_exit(first, plan, bool(self.ranks)):
            return wrong
        if first.code == 0:
            wrong = self.wrong_end(out, first)
            return f"ended with 0, but {wrong}" if wrong else ""
        wrong = self.wrong_end(out, self.resume(out, out, self.plan_of_resumed(plan)))
        return f"after '{first}', resumed: {wrong}" if wrong else ""

    def resume(self, out: Path, folder: Path, plan: str = "") -> Ended:
        """Does what the program says: a run that saved no state but has records can only start again."""
        resumed = launch(self.command(out), folder, plan)
        if resumed.code != 2 or "give --overwrite instead of --resume" not in str(resumed):
            return resumed
        return launch([*self.command(out)[:-1], "--overwrite"], folder, plan)

    def plan_of_resumed(self, plan: str) -> str:
        return ""

    @cached_property
    def recording(self) -> Recording:
        folder = self.shared / "recorded"
        folder.mkdir()
        self.begin(folder / "run")
        return self.record(folder, self.command(folder / "run"))

    def cut(self, folder: Path, cut: str) -> str:
        write_tree(self.recording.after_cut(cut), folder)
        if lost := self.recording.lost(cut):
            return f"ended with 0, but the cut damaged {lost}"
        wrong = self.wrong_end(folder / "run", self.resume(folder / "run", folder))
        return f"resumed: {wrong}" if wrong else ""

    def begin(self, out: Path) -> None:
        """The content of the run folder before the command."""

    def wrong_end(self, out: Path, ended: Ended) -> str:
        if ended.code != 0:
            return str(ended)
        if "nothing to resume" not in ended.out and printed(ended, "weights") != self.weights:
            return "weights differ"
        if contents(out / "checkpoint.h5") != self.checkpoint:
            return "checkpoint.h5 differs"
        if left := [path.name for path in out.rglob("*") if path.suffix == ".tmp" or path.name == "latest.json"]:
            return f"{left} is left"
        return difference(self.read_records(out), self.records)

    @staticmethod
    def read_records(out: Path) -> list[dict] | str:
        """The trained result, without times and strategy counters, which restart when the run is resumed."""
        try:
            records = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
        except (OSError, ValueError) as error:
            return str(error)
        return [{key: value for key, value in record.items() if not key.endswith("_s") and key not in ("strategy", "exposed")} for record in records]


def difference(records: list[dict] | str, wanted: list[dict] | str) -> str:
    if isinstance(records, str) or len(records) != len(wanted):
        return f"metrics.jsonl has {records if isinstance(records, str) else len(records)} records, not {len(wanted)}"
    keys = {key for record, other in zip(records, wanted) for key in record.keys() | other.keys() if record.get(key) != other.get(key)}
    return f"metrics.jsonl differs in {', '.join(sorted(keys))}" if keys else ""


class Resumption(Training):
    """A run that is killed after its second checkpoint and meets the fault when it is resumed."""

    def prepare(self, folder: Path) -> None:
        super().prepare(folder)
        self.partial = folder / "partial"
        pointers = [call.number for call in self.calls if call.name == "rename" and call.path.endswith("latest.json")]
        launch(self.command(self.partial), self.partial, f"at={pointers[1]} do=kill_after")
        again = folder / "again"
        self.begin(again)
        self.count(again, self.command(again))

    def begin(self, out: Path) -> None:
        shutil.copytree(self.partial, out)


class Checkpoint(Training):
    """A training without saved state: its checkpoint can be evaluated, or the training is repeated."""

    modes = MODES
    more_modes = MORE_MODES

    def prepare(self, folder: Path) -> None:
        super().prepare(folder)
        self.score = must(launch(self.evaluate(folder / "whole"), folder)).out

    def command(self, out: Path) -> list[str]:
        return [PROGRAM, "train", *self.options, "--data", str(self.data), "--out", str(out), "--resume"]

    def evaluate(self, out: Path) -> list[str]:
        return [PROGRAM, "evaluate", str(out / "checkpoint.h5"), "--data", str(self.data)]

    def wrong_end(self, out: Path, ended: Ended) -> str:
        scored = launch(self.evaluate(out), out)
        return super().wrong_end(out, ended) or ("" if scored.out == self.score else f"evaluate: {scored}")


class TimedTraining(Training):
    """A training of this machine, whose events carry the time of day: a wrong clock can move all of them together, no more."""

    modes = CLOCK_MODES
    more_modes = []

    def command(self, out: Path) -> list[str]:
        return [PROGRAM, "train", "--workers", str(self.workers), *self.options, "--tensorboard", "--data", str(self.data),
                "--out", str(out), "--resume"]

    def plan_of_resumed(self, plan: str) -> str:
        return f"at=1 {plan[plan.index('clock='):]}"

    def wrong_end(self, out: Path, ended: Ended) -> str:
        if wrong := super().wrong_end(out, ended):
            return wrong
        records = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
        if negative := {key for record in records for key, value in record.items() if key.endswith("_s") and value < 0}:
            return f"metrics.jsonl has negative times: {', '.join(sorted(negative))}"
        try:
            began, *times = event_times(out / "events.out.tfevents.paragrad")
        except struct.error:
            return "the event file is torn"
        passed = [0, *(record["time_s"] for record in records[:-1]), records[-2]["time_s"]]
        if began < 0 or len(times) != len(passed) or any(abs(time - began - s) > 1e-3 for time, s in zip(times, passed)):
            return f"the events have the times {began}, {times}; they should follow the first by {passed} s"
        return ""


def event_times(file: Path) -> list[float]:
    """The first field of each event; a record is a length, its checksum, the event, its checksum."""
    data, times = file.read_bytes(), []
    while data:
        length, = struct.unpack_from("<Q", data)
        times.append(struct.unpack_from("<d", data, 13)[0])  # after the field's tag
        data = data[16 + length:]
    return times


@dataclass
class DataCommand(Target):
    """A command that writes a data file: it leaves the complete new file or the old one."""

    name: str
    arguments: list[str]  # {file}: the data file; {folder}: the folder shared by all trials
    before: list[str] = field(default_factory=list)  # arguments of the command that makes the old file; empty: there is none
    calls: list[Call] = field(default_factory=list)

    def command(self, arguments: list[str], file: Path) -> list[str]:
        return [PROGRAM, *(argument.format(file=file, folder=self.shared) for argument in arguments)]

    def prepare(self, folder: Path) -> None:
        self.shared = folder
        write_idx_files(folder)
        self.previous = None
        if self.before:
            must(launch(self.command(self.before, folder / "before.h5"), folder))
            self.previous = contents(folder / "before.h5")
        whole = folder / "whole"
        self.begin(whole)
        self.count(whole, self.command(self.arguments, whole / "data.h5"))
        self.whole = contents(whole / "data.h5")

    def begin(self, folder: Path) -> None:
        folder.mkdir()
        if self.previous is not None:
            (folder / "data.h5").write_bytes(self.previous)

    @cached_property
    def recording(self) -> Recording:
        folder = self.shared / "recorded"
        self.begin(folder)
        return self.record(folder, self.command(self.arguments, folder / "data.h5"))

    def cut(self, folder: Path, cut: str) -> str:
        write_tree(self.recording.after_cut(cut), folder)
        if lost := self.recording.lost(cut):
            return f"ended with 0, but the cut damaged {lost}"
        if contents(folder / "data.h5") not in (self.previous, self.whole):
            return "the file is neither the old nor the new one"
        return self.wrong_completion(folder)

    def trial(self, folder: Path, plan: str) -> str:
        folder = folder / "data"
        self.begin(folder)
        file = folder / "data.h5"
        first = launch(self.command(self.arguments, file), folder, plan)
        if wrong := wrong_exit(first, plan, False):
            return wrong
        if first.code == 0:
            verdict = launch([PROGRAM, "data", "verify", str(file)], folder)
            return "" if verdict.code == 0 else f"ended with 0, but data verify: {verdict}"
        if contents(file) not in ([self.previous] if first.code == 2 else [self.previous, self.whole]):
            return f"after '{first}', the file is another than before"
        if first.code == 2 and self.can_clean_up(plan) and (left := self.others(folder)):
            return f"after '{first}', {left} is left"
        wrong = self.wrong_completion(folder)
        return f"after '{first}', {wrong}" if wrong else ""

    def wrong_completion(self, folder: Path) -> str:
        file = folder / "data.h5"
        if contents(file) == self.whole:
            verdict = launch([PROGRAM, "data", "verify", str(file)], folder)
            return "" if verdict.code == 0 else f"data verify: {verdict}"
        again = launch(self.command(self.arguments, file), folder)
        if again.code != 0 or contents(file) != self.whole or self.others(folder):
            return f"the same command without the fault: {again}, files {self.others(folder)} beside it"
        return ""

    @staticmethod
    def others(folder: Path) -> list[str]:
        return [path.name for path in folder.iterdir() if path.name != "data.h5"]

    def can_clean_up(self, plan: str) -> bool:
        number = int(plan.split()[0].removeprefix("at="))
        return "fail_on" not in plan and self.calls[number - 1].name != "unlink"


def write_idx_files(folder: Path) -> None:
    """Four files in the format of MNIST, with 2x2 pixels."""
    for part, count in (("train", 30), ("t10k", 10)):
        pixels = bytes((7 * i) % 256 for i in range(4 * count))
        (folder / f"{part}-images-idx3-ubyte").write_bytes(struct.pack(">IIII", 0x803, count, 2, 2) + pixels)
        (folder / f"{part}-labels-idx1-ubyte").write_bytes(struct.pack(">II", 0x801, count) + bytes(i % 3 for i in range(count)))


@dataclass
class Reading(Target):
    """A command that only reads: it prints the same output or one error sentence."""

    name: str
    arguments: list[str]  # {folder}: contains a data file, data.h5, and a run, run
    calls: list[Call] = field(default_factory=list)
    writes = False
    modes = [mode for mode in MODES if "kill" not in mode.name]
    more_modes = [mode for mode in MORE_MODES if "kill" not in mode.name]

    def prepare(self, folder: Path) -> None:
        self.files = folder / "files"
        self.files.mkdir()
        must(launch(data_generate(self.files / "data.h5"), self.files))
        must(launch([PROGRAM, "train", "--model", "4-5-3:sigmoid", "--learning-rate", "0.1", "--blocks", "2", "--epochs", "1", "--quiet",
                     "--data", str(self.files / "data.h5"), "--out", str(self.files / "run")], self.files))
        self.output = self.count(self.files, self.command()).out

    def command(self) -> list[str]:
        return [PROGRAM, *(argument.format(folder=self.files) for argument in self.arguments)]

    def trial(self, folder: Path, plan: str) -> str:
        ended = launch(self.command(), self.files, plan)
        if wrong := wrong_exit(ended, plan, False):
            return wrong
        return "" if ended.code != 0 or ended.out == self.output else f"ended with 0, but printed {ended.out!r}"


STATE = "--strategy bmuf --checkpoint-every 1"

EXHAUSTIVE: list[Target] = [
    Training("state", STATE),
    Checkpoint("checkpoint.h5", ""),
    DataCommand("data generate", data_generate(Path("{file}"))[1:]),
    DataCommand("data import-idx", ["data", "import-idx", "--from", "{folder}", "--name", "tiny", "--valid", "5", "--out", "{file}"]),
]

SAMPLED: list[Target] = [
    Resumption("resumed state", STATE),
    DataCommand("data generate again", data_generate(Path("{file}"))[1:], data_generate(Path("{file}"), "--seed", "2")[1:]),
    DataCommand("data partition", ["data", "partition", "{file}", "--workers", "2", "--blocks", "3"],
                data_generate(Path("{file}"))[1:]),
    Reading("data verify", ["data", "verify", "{folder}/data.h5"]),
    Reading("evaluate", ["evaluate", "{folder}/run/checkpoint.h5", "--data", "{folder}/data.h5"]),
    Reading("data file of a run", ["simulate", "--workers", "2", "--platform", PLATFORM, "--host-threads", "1", "--strategy", "bmuf",
                                   "--model", "4-5-3:sigmoid", "--learning-rate", "0.1", "--blocks", "2", "--epochs", "2", "--quiet",
                                   "--data", "{folder}/data.h5"]),
    Training("1-bit buffered data_parallel", "--strategy data_parallel --gradient-bits 1 --buffered true --checkpoint-every 1"),
    Training("power_sgd", "--strategy data_parallel --compression power_sgd:2 --checkpoint-every 1"),
    Training("diloco, adam", "--strategy diloco --optimiser adam --checkpoint-every 1"),
    Training("streaming_diloco, muon", "--strategy streaming_diloco --fragment-cut packed --outer-delay 9 --optimiser muon --checkpoint-every 1"),
    Training("eager_diloco, adam", "--strategy eager_diloco --optimiser adam --checkpoint-every 1"),
    Training("diloco, statistical", "--strategy diloco --outer-compression statistical:2 --error-decay 0.9 --checkpoint-every 1"),
    Training("bmuf_adam", "--strategy bmuf_adam --optimiser adam --checkpoint-every 1"),
    Training("slowmo, newbob, keep-best", "--strategy slowmo --schedule newbob --newbob-restore true --keep-best true "
             "--newbob-improvement 0.2 --checkpoint-every 1"),
    Training("async_sgd", "--strategy async_sgd --optimiser sgd --momentum 0 --servers 1 --checkpoint-every 1"),
    Training("async_local_sgd, adam", "--strategy async_local_sgd --push-every 3 --optimiser adam --checkpoint-every 1"),
    Training("pretraining, persistent chains", "--strategy bmuf --pretrain-epochs 2 --persistent-chains true "
             "--visible-units gaussian --checkpoint-every 1"),
    Training("blstm", "--strategy bmuf --checkpoint-every 1", model="4-blstm3-3"),
    Training("auto-minibatch, TensorBoard", "--strategy model_averaging --auto-minibatch true --tensorboard --checkpoint-every 1"),
    TimedTraining("clock", STATE),
    *[Training(f"mpiexec, rank {rank}", STATE, ranks=2, rank=rank) for rank in (0, 1) if MPIEXEC],
]
