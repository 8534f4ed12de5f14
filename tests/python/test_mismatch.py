"""Calls of a strategy that do not match end with a sentence on MPI ranks, as in one process."""

import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

HERE = Path(__file__).parent

ONE = "np.ones(1, np.float32)"
CASES = {
    "another collective": ("worker.sum(1) if worker.rank == 0 else worker.allreduce(replica.parameters)", "worker 0 calls sum in synchronise"),
    "another length": ("worker.allreduce(replica.parameters[:10 + worker.rank].copy())", "numbers in synchronise"),
    "one call more on one rank": ("worker.sum(1); worker.rank == 1 and worker.sum(1)", "worker 1 calls sum in synchronise"),
    "one call less on one rank": ("worker.rank == 1 or worker.sum(1)", "worker 1 has returned from synchronise"),
    "nobody sends": (f"worker.rank == 0 and worker.receive({ONE}, 1)", "worker 0 receives from worker 1 in synchronise"),
    "nobody receives": (f"worker.rank == 2 and worker.send({ONE}, 0)", "worker 2 sends to worker 0 in synchronise"),
    "nobody receives a long message": ("worker.rank == 2 and worker.send(replica.parameters, 0)", "worker 2 sends to worker 0 in synchronise"),
    "all receive in a ring": (f"worker.receive({ONE}, (worker.rank - 1) % worker.size)", "receives from worker"),
    "all send in a ring": (f"worker.send({ONE}, (worker.rank + 1) % worker.size)", "sends to worker"),
    "two wait for each other": (f"worker.rank < 2 and worker.receive({ONE}, 1 - worker.rank)", "receives from worker"),
    "a collective and a message": (f"worker.sum(1) if worker.rank else worker.receive({ONE}, 1)", "worker 0 receives from worker 1 in synchronise"),
    "a chain": (f"[worker.receive({ONE}, 1), worker.receive({ONE}, 2), worker.sum(1)][0] if worker.rank == 0 else worker.rank == 1 and worker.receive({ONE}, 2)",
                "receives from worker 2"),
}
STEPS = {
    "in some minibatches": ("self.count = getattr(self, 'count', 0) + 1; (worker.rank == 1 and self.count == 3) or worker.allreduce(replica.gradient); replica.update()",
                            "worker 1 .* in s|worker 0 .* in s"),
    "an exchange with the wrong neighbour": (f"worker.exchange({ONE}, (worker.rank + 1) % 3, {ONE}, (worker.rank + 1) % 3); replica.update()",
                                             "receives from worker"),
}


def launch(mpiexec: str, task: dict, tmp_path: Path, function: str, body: str, ranks: int = 3) -> tuple[subprocess.CompletedProcess, float]:
    file = tmp_path / "script.py"
    file.write_text(textwrap.dedent(f"""
        import sys; sys.path.insert(0, {str(HERE)!r})
        import numpy as np, paragrad as pg
        class Mine(pg.Strategy):
            def {function}:
                {body}
        run = pg.train(strategy=Mine, **{({name: value if isinstance(value, bool) else str(value) for name, value in task.items()})!r})
        print("ended")
        """))
    begun = time.monotonic()
    done = subprocess.run([mpiexec, "-n", str(ranks), sys.executable, str(file)], capture_output=True, text=True, timeout=60)
    return done, time.monotonic() - begun


@pytest.mark.parametrize("name, more", [*((name, {}) for name in CASES), ("another collective", {"timeline": True})])
def test_calls_that_do_not_match_end_with_both_of_them(task, mpiexec, tmp_path, name, more):
    body, sentence = CASES[name]
    more = more and more | {"out": tmp_path / "run"}
    done, _ = launch(mpiexec, task | more, tmp_path, "synchronise(self, worker, replica, samples)", body)
    assert done.returncode != 0 and "ended" not in done.stdout
    assert "__main__:Mine: the calls of the workers do not match" in done.stderr and sentence in done.stderr, done.stderr


@pytest.mark.parametrize("name", STEPS)
def test_so_do_those_of_a_minibatch(task, mpiexec, tmp_path, name):
    body, sentence = STEPS[name]
    done, _ = launch(mpiexec, task, tmp_path, "step(self, worker, replica)", body)
    assert done.returncode != 0 and "the calls of the workers do not match" in done.stderr, done.stderr


@pytest.mark.parametrize("function", ["start(self, worker, replica)", "begin_epoch(self, worker, replica, epoch)", "show_model(self, worker, replica)",
                                      "resume_work(self, worker, replica)"])
def test_so_do_those_of_every_function(task, mpiexec, tmp_path, function):
    body = "worker.rank == 1 or worker.sum(1)\n            def synchronise(self, worker, replica, samples):\n                worker.allreduce(replica.parameters)"
    done, _ = launch(mpiexec, task, tmp_path, function, body)
    assert done.returncode != 0 and f"worker 1 has returned from {function.partition('(')[0]}" in done.stderr, done.stderr


def test_calls_that_match_in_any_order_of_messages_end(task, mpiexec, tmp_path):
    body = f"""right, left = (worker.rank + 1) % worker.size, (worker.rank - 1) % worker.size
                got = {ONE}
                worker.exchange({ONE} * worker.rank, right, got, left)
                assert got[0] == left
                if worker.rank == 0:
                    for other in (2, 1):
                        worker.receive(got, other)
                        assert got[0] == other
                    worker.send(got, 2)
                else:
                    worker.send({ONE} * worker.rank, 0)
                    worker.rank == 2 and worker.receive(got, 0)
                assert worker.sum(1) == 3
                worker.allreduce(replica.parameters)
                replica.parameters /= worker.size"""
    done, _ = launch(mpiexec, task, tmp_path, "synchronise(self, worker, replica, samples)", body)
    assert done.returncode == 0 and done.stdout.count("ended") == 3, done.stderr
