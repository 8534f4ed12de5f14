"""Strategies in Python that do what some of Paragrad's own do."""

import os
import time
from dataclasses import dataclass

import numpy as np
import paragrad as pg


MADE: list[str] = []  # calls


def fails_at() -> int:
    """The block or minibatch, counted from 1, in which a strategy fails; 0: none. Not a variable, as a resumed run must have the same ones."""
    return int(os.environ.get("PARAGRAD_TEST_FAILS_AT", "0"))


class Averaging(pg.Strategy):
    """model_averaging."""

    def synchronise(self, worker, replica, samples):
        if worker.size == 1:
            return
        weight = samples * worker.size / worker.sum(samples)
        if weight != 1:
            replica.parameters *= np.float32(weight)
        worker.allreduce(replica.parameters)
        replica.parameters *= np.float32(1 / worker.size)
        replica.reset_momentum()


class Gradients(pg.Strategy):
    """data_parallel."""

    def step(self, worker, replica):
        worker.allreduce(replica.gradient)
        replica.update()


@dataclass
class Gossip(pg.Strategy):
    """The strategy of experiments/own_strategy: mixes each model with the left neighbour's on a ring."""

    weight: float = 0.5

    def synchronise(self, worker, replica, samples):
        left = np.empty_like(replica.parameters)
        worker.exchange(replica.parameters, (worker.rank + 1) % worker.size, left, (worker.rank - 1) % worker.size)
        worker.scale(replica.parameters, 1 - self.weight)
        worker.add(replica.parameters, left, self.weight)

    def show_model(self, worker, replica):
        self.own = replica.parameters.copy()
        worker.allreduce(replica.parameters)
        worker.scale(replica.parameters, 1 / worker.size)

    def resume_work(self, worker, replica):
        replica.parameters[:] = self.own


class Momentum(pg.Strategy):
    """Classical block momentum (bmuf with bmuf_kind cbm). Fails in a block."""

    def start(self, worker, replica):
        self.base = replica.parameters.copy()
        self.change = np.zeros_like(self.base)
        self.blocks = np.zeros(1, np.float32)

    def synchronise(self, worker, replica, samples):
        self.blocks += 1
        if self.blocks == fails_at():
            raise RuntimeError("stopped for the test")
        worker.allreduce(replica.parameters)
        self.change *= np.float32(0.5)
        self.change += replica.parameters / np.float32(worker.size) - self.base
        self.base += self.change
        replica.parameters[:] = self.base
        replica.reset_momentum()

    def state(self):
        return {"base": self.base, "change": self.change, "blocks": self.blocks}


class WithoutState(Momentum):
    """Has no state() of its own."""

    state = pg.Strategy.state


class Meets(pg.Strategy):
    """Averages the models after every minibatch, as sparta does with all parameters."""

    def meet(self, worker, replica, samples):
        worker.allreduce(replica.parameters)
        replica.parameters *= np.float32(1 / worker.size)


@dataclass
class SparseMeetings(pg.Strategy):
    """A newcomer's: every few minibatches the workers average some parameters, drawn by seed and meeting. Fails in a meeting."""

    share: float = 0.1
    every: int = 3
    seed: int = 1

    def start(self, worker, replica):
        self.meetings = np.zeros(1, np.float32)

    def next_meeting(self, round, rounds):
        return min(round + self.every, rounds)

    def meet(self, worker, replica, samples):
        self.meetings += 1
        if self.meetings == fails_at():
            raise RuntimeError("stopped for the test")
        random = np.random.default_rng([self.seed, int(self.meetings[0])])
        mask = random.random(replica.parameters.size) < self.share
        values = replica.parameters[mask]
        worker.allreduce(values)
        replica.parameters[mask] = values * np.float32(1 / worker.size)

    def state(self):
        return {"meetings": self.meetings}


class MeetsNever(Meets):
    """Names no meeting that there can be."""

    returned: object = None

    def next_meeting(self, round, rounds):
        return type(self).returned


class SlowGradients(Gradients):
    """Adds a tenth of the gradients so far. Fails in a minibatch."""

    def start(self, worker, replica):
        self.sum = np.zeros_like(replica.gradient)
        self.minibatches = np.zeros(1, np.float32)

    def step(self, worker, replica):
        self.minibatches += 1
        if self.minibatches == fails_at():
            raise RuntimeError("stopped for the test")
        self.sum *= np.float32(0.1)
        self.sum += replica.gradient
        replica.gradient[:] = self.sum
        super().step(worker, replica)

    def state(self):
        return {"sum": self.sum, "minibatches": self.minibatches}


class InvalidState(Averaging):
    """Returns what the test says."""

    def returned(self):
        return {}

    def state(self):
        return InvalidState.returned(self)


class Divides(pg.Strategy):
    """Fails in the second block, on one worker."""

    blocks = 0

    def synchronise(self, worker, replica, samples):
        worker.allreduce(replica.parameters)
        self.blocks += 1
        if worker.rank == 1 and self.blocks == 2:
            self.blocks / 0


class Deaf(Divides):
    """The other workers ignore that the run ends."""

    def synchronise(self, worker, replica, samples):
        try:
            super().synchronise(worker, replica, samples)
            worker.sum(1)
        except RuntimeError:
            pass


class Does(pg.Strategy):
    """What the test says."""

    call = None

    def synchronise(self, worker, replica, samples):
        type(self).call(worker, replica.parameters)


class Keeps(pg.Strategy):
    """Keeps what belongs to the run."""

    kept: list = []
    arrays: list = []

    def step(self, worker, replica):
        replica.update()
        Keeps.arrays.append(replica.gradient)

    def synchronise(self, worker, replica, samples):
        Keeps.kept = [worker, replica]
        Keeps.arrays.append(replica.parameters)


class Sleeps(Averaging):
    """Takes half a second per epoch."""

    def begin_epoch(self, worker, replica, epoch):
        if worker.rank == 0:
            time.sleep(0.5)


class Borrows(pg.Strategy):
    """Every worker uses the one that came first."""

    first: list = []

    def start(self, worker, replica):
        if worker.rank == 0:
            Borrows.first = [worker]

    def synchronise(self, worker, replica, samples):
        Borrows.first[0].sum(1)


class Commands(pg.Strategy):
    """Runs a command of the program."""

    def synchronise(self, worker, replica, samples):
        pg.command("help")


class BlockCalls(pg.Strategy):
    """Records which of its functions worker 0 calls."""

    def record(self, worker, name):
        if worker.rank == 0:
            MADE.append(name)

    def start(self, worker, replica):
        self.record(worker, "start")

    def begin_epoch(self, worker, replica, epoch):
        self.record(worker, "begin_epoch")

    def synchronise(self, worker, replica, samples):
        self.record(worker, "synchronise")

    def show_model(self, worker, replica):
        self.record(worker, "show_model")

    def resume_work(self, worker, replica):
        self.record(worker, "resume_work")


class Calls(BlockCalls):
    """Exchanges gradients, too."""

    def step(self, worker, replica):
        self.record(worker, "step")
        worker.allreduce(replica.gradient)
        replica.update()


class Loops(pg.Strategy):
    """Never comes to an end in the second block."""

    blocks = 0

    def synchronise(self, worker, replica, samples):
        self.blocks += 1
        worker.sum(1)
        while worker.rank == 0 and self.blocks == 2:
            pass


class Waits(pg.Strategy):
    """Worker 0 waits for a message that no worker sends."""

    def synchronise(self, worker, replica, samples):
        if worker.rank == 0:
            worker.receive(np.empty(1, np.float32), 1)


class Overfills(pg.Strategy):
    """Worker 0 sends worker 1 more than it receives."""

    def synchronise(self, worker, replica, samples):
        if worker.rank == 0:
            worker.send(replica.parameters, 1)
        if worker.rank == 1:
            worker.receive(np.empty(1, np.float32), 0)


class Misspelt(pg.Strategy):
    """Has no function that is called after a block."""

    def synchronize(self, worker, replica, samples):
        pass


class Last(pg.Strategy):
    """The workers exchange nothing before the model is shown."""

    def show_model(self, worker, replica):
        worker.allreduce(replica.parameters)


class Outer:
    class Nested(Averaging):
        pass


@dataclass
class Field(Averaging):
    """Has one field, of any type."""

    value: object = None

    def start(self, worker, replica):
        Field.seen = self.value
