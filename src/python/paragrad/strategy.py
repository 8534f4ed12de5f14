"""Strategies written in Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy

    from ._core import Replica, Worker


class Strategy:
    """How workers agree on one model. Derive from it, define what you need, and give the class as `strategy`.

    Every worker has an object of its own, and all make the same calls in the same order. They reach each other only through
    `worker`. A class with `step` exchanges the gradient of every minibatch. The workers of any other class train on their own and
    meet in `synchronise`, after each block, or in `meet(worker, replica, samples)`, after the minibatches that `next_meeting`
    names. Define at least one of the three; `step` and `meet` exclude each other. One worker makes the same calls as several. The fields of a dataclass are
    its options, which the run records as JSON: numbers, strings, and lists and dicts of these. Each worker's object is made from them.

    `replica.parameters` and `replica.gradient` are NumPy arrays that share the worker's memory: change them in place.
    NumPy's arithmetic takes no simulated time; `worker.scale` and `worker.add` do.
    """

    def start(self, worker: Worker, replica: Replica) -> None:
        """Before the first epoch. The parameters are the same at all workers."""

    def begin_epoch(self, worker: Worker, replica: Replica, epoch: int) -> None:
        """Before an epoch, counted from 1."""

    def synchronise(self, worker: Worker, replica: Replica, samples: int) -> None:
        """At the end of a block, in which this worker has trained on `samples` samples."""

    def next_meeting(self, round: int, rounds: int) -> int:
        """With `meet`: after `round` minibatches of a block that has `rounds`, how many there will be at the next meeting. The
        same at all workers; a worker whose part of the block has fewer takes part without training."""
        return round + 1

    def show_model(self, worker: Worker, replica: Replica) -> None:
        """Puts the model that is to be scored and saved into the parameters, the same at all workers. With `meet` it is the mean
        of the workers' models, unless the class says otherwise."""
        if hasattr(self, "meet"):
            vars(self)["_own_model"] = replica.parameters.copy()  # also of a frozen dataclass
            worker.allreduce(replica.parameters)
            worker.scale(replica.parameters, 1 / worker.size)

    def resume_work(self, worker: Worker, replica: Replica) -> None:
        """Undoes show_model."""
        own = vars(self).pop("_own_model", None)
        if own is not None:
            replica.parameters[:] = own

    def state(self) -> dict[str, numpy.ndarray]:
        """The float32 arrays, by name, that are saved with the model (`checkpoint_every`) and restored when the run is resumed.

        Return the same ones from `start` on, and the arrays themselves, not copies: a resumed run calls `start` on a new object
        and then overwrites them; so does `auto_minibatch` after each trial.
        """
        return {}
