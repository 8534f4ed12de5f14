"""Strategies written in Python: the same weights as those in C++ that do the same, in the simulator and on MPI ranks."""

import importlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import paragrad as pg
import pytest
import strategies

HERE = Path(__file__).parent
README = HERE.parents[1] / "src/python/README.md"
OPTIMISERS = [name for file in ("optim/catalogue.def", "backend/update_rules.def")
              for name in re.findall(r"^\w+\((\w+)", (HERE.parents[1] / "src" / file).read_text(), re.MULTILINE)]


@pytest.fixture(scope="session")
def of_the_readme(tmp_path_factory):
    """The strategies of the README, as a module."""
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    (folder := tmp_path_factory.mktemp("readme")).joinpath("of_the_readme.py").write_text(next(block for block in blocks if "class Averaging" in block))
    sys.path.insert(0, str(folder))
    return importlib.import_module("of_the_readme")


@pytest.mark.parametrize("mine, paragrads", [("Averaging", "model_averaging"), ("Gradients", "data_parallel")])
@pytest.mark.parametrize("workers", [1, 2, 3, 4])
@pytest.mark.parametrize("momentum", [0, 0.9])
def test_a_strategy_in_python_ends_in_the_weights_of_the_one_in_cpp(four, of_the_readme, mine, paragrads, workers, momentum):
    options = four | {"workers": workers, "momentum": momentum}
    wanted = pg.simulate(**options | {"strategy": paragrads})
    for found in (pg.simulate(**options | {"strategy": getattr(module, mine)}) for module in (strategies, of_the_readme)):
        if workers == 1 and mine == "Gradients":  # data_parallel then updates while it computes the gradient, which rounds in another order
            np.testing.assert_allclose(found.weights, wanted.weights, atol=1e-5)
        else:
            assert found.weights_sha256 == wanted.weights_sha256


@pytest.mark.parametrize("workers", [2, 4])
def test_meetings_within_a_block_end_in_the_weights_of_the_strategy_in_cpp(four, workers):
    options = four | {"workers": workers, "minibatch": 16}
    wanted = pg.simulate(**options | {"strategy": "sparta", "mask_share": 1})
    assert pg.simulate(**options | {"strategy": strategies.Meets}).weights_sha256 == wanted.weights_sha256


def test_meetings_end_in_the_same_weights_in_all_worlds(four, task, mpiexec, tmp_path):
    options = {"minibatch": 16, "optimiser": "adamw", "learning_rate": 0.01}
    three = pg.simulate(**four | options | {"workers": 3, "strategy": strategies.SparseMeetings(share=0.2)}).weights_sha256
    assert pg.train(strategy=strategies.SparseMeetings(share=0.2), workers=3, **task | options).weights_sha256 == three
    done = launch(mpiexec, tmp_path, f"""
        import paragrad as pg, strategies
        run = pg.train(strategy=strategies.SparseMeetings(share=0.2), **{words(task | options)})
        if run:
            print(run.weights_sha256)
        """)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [three]


@pytest.mark.parametrize("returned, message", [
    (0, "must return a number from 1 to"), (10**6, "must return a number from 1 to"), ("soon", "must return a whole number, not 'soon'"),
    (None, "must return a whole number, not None"), (1.5, "must return a whole number, not 1.5"), (-1, "must return a whole number, not -1")])
def test_a_meeting_that_cannot_be_is_refused(four, monkeypatch, returned, message):
    monkeypatch.setattr(strategies.MeetsNever, "returned", returned)
    with pytest.raises(pg.Error, match=message):
        pg.simulate(**four | {"strategy": strategies.MeetsNever})


def test_a_strategy_that_meets_may_say_itself_what_is_shown_and_may_be_frozen(four):
    class First(strategies.Meets):
        def show_model(self, worker, replica):
            pass  # all models are equal

    @dataclass(frozen=True)
    class Frozen(strategies.Meets):
        share: float = 1

    hashes = {pg.simulate(**four | {"strategy": strategy}).weights_sha256 for strategy in (strategies.Meets, Frozen())}
    assert len(hashes) == 1
    pg.simulate(**four | {"strategy": First})


def test_a_meeting_that_nobody_is_called_to_is_refused(four):
    class Names(strategies.Averaging):
        def next_meeting(self, round, rounds):
            return rounds

    with pytest.raises(pg.Error, match="defines next_meeting, but not meet"):
        pg.simulate(**four | {"strategy": Names})


def test_step_and_meet_exclude_each_other(four):
    class Both(strategies.Meets):
        def step(self, worker, replica):
            replica.update()

    with pytest.raises(pg.Error, match="defines both step and meet"):
        pg.simulate(**four | {"strategy": Both})


def test_a_worker_on_its_own_is_its_own_neighbour(task, mpiexec):
    """In a strategy that exchanges with the neighbours on a ring."""
    hashes = [pg.simulate(strategy=strategies.Gossip, workers=1, platform="k40m-fdr", **task).weights_sha256,
              pg.train(strategy=strategies.Gossip, **task).weights_sha256]
    script = f"import sys; sys.path.insert(0, {str(HERE)!r}); import strategies, paragrad as pg; " \
             f"print(pg.train(strategy=strategies.Gossip, **{words(task)}).weights_sha256)"
    done = subprocess.run([mpiexec, "-n", "1", sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert {*hashes, done.stdout.strip()} == {hashes[0]}, done.stderr


@pytest.mark.parametrize("strategy", [strategies.Calls, strategies.BlockCalls])
def test_a_worker_on_its_own_makes_the_same_calls_as_several(task, mpiexec, tmp_path, strategy):
    made = {}
    for name, run in {"four emulated": lambda: pg.simulate(strategy=strategy, workers=4, platform="k40m-fdr", minibatch=64, **task),
                      "one emulated": lambda: pg.simulate(strategy=strategy, workers=1, platform="k40m-fdr", minibatch=64, **task),
                      "one": lambda: pg.train(strategy=strategy, minibatch=64, **task),
                      "two of one process": lambda: pg.train(strategy=strategy, workers=2, minibatch=64, **task)}.items():
        strategies.MADE.clear()
        run()
        made[name] = strategies.MADE.copy()
    script = f"import strategies, paragrad as pg; pg.train(strategy=strategies.{strategy.__name__}, minibatch=64, **{words(task)}); print(*strategies.MADE)"
    done = subprocess.run([mpiexec, "-n", "1", sys.executable, "-c", f"import sys; sys.path.insert(0, {str(HERE)!r}); {script}"],
                          capture_output=True, text=True, timeout=60)
    made["one rank"] = done.stdout.split()
    steps = {name: calls.count("step") for name, calls in made.items()}
    assert {name: [call for call in calls if call != "step"] for name, calls in made.items()} == dict.fromkeys(
        made, ["start", *(2 * ["begin_epoch", "synchronise", "synchronise", "synchronise", "show_model", "resume_work"])][:-1]), done.stderr
    assert len(set(steps.values())) == 1 and (steps["one"] > 10) == (strategy is strategies.Calls)


def test_workers_of_one_process_end_in_the_weights_of_emulated_ones(four, task):
    simulated = pg.simulate(**four | {"strategy": strategies.Gossip(weight=0.25)})
    assert pg.train(strategy=strategies.Gossip(weight=0.25), workers=4, **task).weights_sha256 == simulated.weights_sha256


LINKED = subprocess.run(["ldd", importlib.util.find_spec("paragrad._core").origin], capture_output=True, text=True).stdout


def environment_for_mpi4py(home: Path) -> dict[str, str]:
    """That of the README's commands."""
    if "libmpich" not in LINKED:
        return os.environ | {"MPI4PY_MPIABI": "openmpi"}
    link, run = re.search(r"^  (mkdir -p ~.*)\n  (.*) mpiexec -n 3", README.read_text(), re.MULTILINE).groups()
    link = link.replace("/usr/lib/x86_64-linux-gnu/libmpich.so.12", re.search(r"libmpich\.so\.12 => (\S+)", LINKED)[1])
    subprocess.run(link, shell=True, check=True, env=os.environ | {"HOME": str(home)})
    return os.environ | {name: value.replace("~", str(home)) for name, value in (setting.split("=") for setting in run.split())}


def words(task: dict) -> str:
    """The options as Python's literal."""
    return repr({name: str(value) for name, value in task.items()})


def launch(mpiexec: str, folder: Path, script: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess:
    """Runs a script on three ranks."""
    file = folder / "script.py"
    file.write_text(f"import sys\nsys.path.insert(0, {str(HERE)!r})\n" + textwrap.dedent(script))
    return subprocess.run([mpiexec, "-n", "3", sys.executable, str(file)], capture_output=True, text=True, timeout=60, env=env)


@pytest.mark.parametrize("first_lines", ["", "from mpi4py import MPI"])
def test_mpi_ranks_end_in_the_weights_of_emulated_workers(task, mpiexec, tmp_path, first_lines):
    done = launch(mpiexec, tmp_path, f"""
        {first_lines}
        import paragrad as pg, strategies
        for seed in ({"1, 2" if first_lines else "1"},):
            run = pg.train(strategy=strategies.Gossip, seed=seed, **{words(task)})
            if run:
                print(run.weights_sha256)
        """, env=environment_for_mpi4py(tmp_path) if first_lines else None)
    assert done.returncode == 0, done.stderr
    seeds = (1, 2) if first_lines else (1,)
    assert done.stdout.split() == [
        pg.simulate(strategy=strategies.Gossip, workers=3, platform="k40m-fdr", seed=seed, **task).weights_sha256 for seed in seeds]


@pytest.mark.skipif("libmpich" not in LINKED or shutil.which("mpiexec.openmpi") is None, reason="MPICH and Open MPI are not both there")
def test_another_mpi_library_in_the_process_is_named(task, mpiexec):
    script = f"from mpi4py import MPI; import paragrad as pg; pg.train(**{words(task)})"
    done = subprocess.run([mpiexec, "-n", "2", sys.executable, "-c", script], capture_output=True, text=True, timeout=60,
                          env=os.environ | {"MPI4PY_MPIABI": "openmpi"})
    assert done.returncode != 0
    assert "built with MPICH, but the process uses Open MPI" in done.stderr and "MPI4PY_MPIABI" in done.stderr


def test_the_options_of_a_strategy_are_recorded_and_repeat_the_run(four, tmp_path):
    first = pg.simulate(out=tmp_path / "first", **four | {"strategy": strategies.Gossip(weight=0.25)})
    assert first.config["python-class"] == "strategies:Gossip" and first.config["python-arguments"] == '{"weight": 0.25}'
    again = pg.simulate(config=tmp_path / "first/config.toml", strategy=strategies.Gossip(weight=0.25), out=tmp_path / "again")
    assert first.weights_sha256 == again.weights_sha256


@pytest.mark.parametrize("run, world", [(pg.simulate, {"platform": "k40m-fdr"}), (pg.train, {})])
@pytest.mark.parametrize("strategy, fails_at", [  # of three blocks in each of two epochs, or of their minibatches
    (strategies.Momentum, 2), (strategies.Momentum, 4), (strategies.Momentum, 5), (strategies.SlowGradients, 50), (strategies.SparseMeetings, 9)])
def test_a_strategy_with_state_resumes_to_the_weights_of_the_undisturbed_run(task, run, world, strategy, fails_at, tmp_path, monkeypatch):
    options = dict(strategy=strategy, workers=3, checkpoint_every=1, minibatch=12, **world, **task)
    whole = run(**options)
    with monkeypatch.context() as disturbed, pytest.raises(pg.Error, match="stopped for the test"):
        disturbed.setenv("PARAGRAD_TEST_FAILS_AT", str(fails_at))
        run(out=tmp_path / "run", **options)
    assert run(out=tmp_path / "run", resume=True, **options).weights_sha256 == whole.weights_sha256


def test_ranks_resume_with_the_state_of_a_strategy(task, mpiexec, tmp_path):
    def train(fails_at: int) -> subprocess.CompletedProcess:
        return launch(mpiexec, tmp_path, f"""
            import paragrad as pg, strategies
            run = pg.train(strategy=strategies.Momentum, out={str(tmp_path / "run")!r}, checkpoint_every=1, resume=True, **{words(task)})
            if run:
                print(run.weights_sha256)
            """, env=os.environ | {"PARAGRAD_TEST_FAILS_AT": str(fails_at)})

    stopped = train(fails_at=5)
    assert stopped.returncode != 0 and "stopped for the test" in stopped.stderr
    assert train(fails_at=0).stdout.strip() == pg.simulate(strategy=strategies.Momentum, workers=3, platform="k40m-fdr", **task).weights_sha256


def test_what_a_strategy_carries_is_lost_without_state(four, tmp_path, monkeypatch):
    options = four | {"strategy": strategies.WithoutState, "checkpoint_every": 1}
    with monkeypatch.context() as disturbed, pytest.raises(pg.Error, match="stopped for the test"):
        disturbed.setenv("PARAGRAD_TEST_FAILS_AT", "3")
        pg.simulate(out=tmp_path / "run", **options)
    assert pg.simulate(out=tmp_path / "run", resume=True, **options).weights_sha256 != pg.simulate(**options).weights_sha256


def test_block_momentum_in_python_ends_near_the_weights_of_bmuf(four):
    own = pg.simulate(**four | {"strategy": strategies.Momentum}).weights
    paragrads = pg.simulate(**four | {"strategy": "bmuf"}, bmuf_kind="cbm", block_momentum=0.5).weights
    np.testing.assert_allclose(own, paragrads, atol=1e-5)


def not_writable() -> np.ndarray:
    array = np.zeros(3, np.float32)
    array.setflags(write=False)
    return array


@pytest.mark.parametrize("returned, sentence", [
    (lambda self: [1], r"must return a dict of NumPy arrays, not list"),
    (lambda self: {"x": np.zeros(3)}, "'x' .* must be a contiguous, writable NumPy array of float32"),
    (lambda self: {"x": 3}, "'x' .* must be a contiguous, writable NumPy array of float32"),
    (lambda self: {"x": np.zeros((4, 4), np.float32)[:, 1]}, "'x' .* must be a contiguous"),
    (lambda self: {"x": not_writable()}, "'x' .* must be a contiguous, writable"),
    (lambda self: {"x": np.zeros(3, np.float32)}, "'x' .* is a copy: return the array that the strategy uses"),
    (lambda self: {"a/b": np.zeros(3, np.float32)}, "the name 'a/b' .* must be a Python identifier"),
    (lambda self: {None: np.zeros(3, np.float32)}, "the name 'None' .* must be a Python identifier"),
    (lambda self: 1 / 0, r"InvalidState.state: ZeroDivisionError"),
])
def test_a_state_that_cannot_be_restored_is_refused_at_the_start(four, returned, sentence, monkeypatch):
    monkeypatch.setattr(strategies.InvalidState, "returned", returned)
    with pytest.raises(pg.Error, match=sentence):
        pg.simulate(**four | {"strategy": strategies.InvalidState})


def test_an_array_that_is_not_there_from_the_start_is_refused(four, monkeypatch):
    calls = []

    def returned(self):
        calls.append(self)
        return {"late": np.zeros(3, np.float32)} if len(calls) > 2 * 4 else {}

    monkeypatch.setattr(strategies.InvalidState, "returned", returned)
    with pytest.raises(pg.Error, match=r"names and lengths that they had after start\(\)"):
        pg.simulate(checkpoint_every=1, **four | {"strategy": strategies.InvalidState})


def test_another_number_of_workers_cannot_go_on_with_a_strategys_own_state(four, tmp_path, monkeypatch):
    options = four | {"strategy": strategies.Momentum, "checkpoint_every": 1}
    with monkeypatch.context() as disturbed, pytest.raises(pg.Error, match="stopped for the test"):
        disturbed.setenv("PARAGRAD_TEST_FAILS_AT", "4")
        pg.simulate(out=tmp_path / "run", **options)
    with pytest.raises(pg.Error, match="belongs to each worker"):
        pg.simulate(out=tmp_path / "run", resume=True, rescale=True, **options | {"workers": 2})


@pytest.mark.parametrize("run, world", [(pg.simulate, {"platform": "k40m-fdr"}), (pg.train, {})])
@pytest.mark.parametrize("strategy", [strategies.Divides, strategies.Deaf])
def test_an_exception_in_a_strategy_ends_the_run_with_its_line(task, run, world, strategy, capsys):
    with pytest.raises(pg.Error, match=r"\.synchronise: ZeroDivisionError: division by zero \(.*strategies.py, line \d+\)"):
        run(strategy=strategy, workers=4, **world, **task)
    assert "self.blocks / 0" in capsys.readouterr().err  # the traceback
    assert run(strategy=strategies.Averaging, workers=4, **world, **task).weights_sha256  # nothing is left over


@pytest.mark.parametrize("run, world", [(pg.simulate, {"platform": "k40m-fdr"}), (pg.train, {})])
@pytest.mark.parametrize("strategy, sentence", [
    (strategies.Commands, "a strategy, a model or a compressor cannot run commands or predict while it trains"),
    (strategies.Waits, "worker 0 waits for a message from worker 1"),
    (strategies.Overfills, "strategies:Overfills.synchronise: a message is longer than the receive's buffer"),
])
def test_calls_that_cannot_end_are_errors(task, run, world, strategy, sentence):
    with pytest.raises(pg.Error, match=sentence):
        run(strategy=strategy, workers=4, **world, **task)


def test_what_is_no_strategy_is_refused(four):
    for wrong, message in [(3, "not 3"), (dict, "derived from paragrad.Strategy"), (strategies.Averaging(), "itself"),
                           (strategies.Misspelt, "Misspelt defines none of step, meet and synchronise, .* did you mean synchronise instead of synchronize"),
                           (strategies.Last, "define one of them")]:
        with pytest.raises(pg.Error, match=message):
            pg.simulate(**four | {"strategy": wrong})


def test_a_class_may_be_defined_anywhere(four):
    class Local(strategies.Averaging):
        pass

    wanted = pg.simulate(**four).weights_sha256
    assert [pg.simulate(**four | {"strategy": kind}).weights_sha256 for kind in (Local, strategies.Outer.Nested)] == [wanted, wanted]


@pytest.mark.parametrize("value, same", [
    (np.float32(0.25), 0.25), (np.int64(3), 3), (np.bool_(True), True), ([1, {"a": None}, "b"], [1, {"a": None}, "b"])])
def test_a_field_arrives_as_it_is_or_as_the_number_that_it_is(four, value, same):
    pg.simulate(**four | {"strategy": strategies.Field(value)})
    assert strategies.Field.seen == same and type(strategies.Field.seen) is type(same)


@pytest.mark.parametrize("value", [(1, 2), {1: 2}, [(1, 2)], np.zeros(3), {1, 2}, Path("a"), [np.int64(3)]])
def test_a_field_that_would_be_recorded_as_something_else_is_refused(four, value):
    with pytest.raises(pg.Error, match="Field.value is .*, which JSON does not preserve"):
        pg.simulate(**four | {"strategy": strategies.Field(value)})


@pytest.mark.parametrize("name", ["python", "python_exchange", "python_meeting"])
@pytest.mark.parametrize("options", [{"python_class": "subprocess:run", "python_arguments": '{"args": "touch called", "shell": true}'},
                                     {"python_class": "strategies:Gossip"}, {"python_class": "nowhere:Nothing"}, {}])
def test_a_class_is_never_imported_by_its_name(four, name, options, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nowhere.py").write_text("open('called', 'w')")
    monkeypatch.syspath_prepend(tmp_path)
    as_file = {key.replace("_", "-"): value for key, value in ({"strategy": name} | options).items()}
    (tmp_path / "config.toml").write_text("".join(f"{key} = {value!r}\n" for key, value in as_file.items()))
    without = {key: value for key, value in four.items() if key != "strategy"}
    for run in (lambda: pg.simulate(**without, strategy=name, **options), lambda: pg.simulate(**without, config="config.toml"),
                lambda: pg.command("simulate", **without, config="config.toml")):
        with pytest.raises(pg.Error, match="give the class itself"):
            run()
    with pytest.raises(pg.Error, match="`python-.*` follows from the strategy that is given: leave it out"):
        pg.simulate(**without, strategy=strategies.Averaging, **options or {"python_source_sha256": "0"})
    assert pg.simulate(**without, strategy=strategies.Gossip, config="config.toml").config["python-class"] == "strategies:Gossip"  # the call's
    assert not (tmp_path / "called").exists()


@pytest.mark.parametrize("call, sentence", [
    (lambda worker, array: worker.allreduce(np.zeros(3)), "allreduce needs a contiguous, writable NumPy array of float32, not an array of float64"),
    (lambda worker, array: worker.allreduce([1.0]), "allreduce needs .* float32, not list"),
    (lambda worker, array: worker.allreduce(None), "allreduce needs .* float32, not NoneType"),
    (lambda worker, array: worker.allreduce(np.zeros((4, 4), np.float32)[:, 1]), "allreduce needs .*, not one that is not contiguous"),
    (lambda worker, array: worker.allreduce(not_writable()), "allreduce needs .*, not one that is read-only"),
    (lambda worker, array: worker.scale(np.zeros(3, int), 2), "scale needs .*, not an array of int64"),
    (lambda worker, array: worker.add(array, array.astype(np.float16)), "add needs a contiguous NumPy array of float32, not an array of float16"),
    (lambda worker, array: worker.send(array.astype(float), 1), "send needs a contiguous NumPy array of float32, not an array of float64"),
    (lambda worker, array: worker.receive(array.astype(float), 1), "receive needs a contiguous, writable"),
    (lambda worker, array: worker.exchange(array, 1, array.astype(float), 1), "exchange needs a contiguous, writable"),
])
def test_arrays_of_other_types_are_refused_by_what_they_are(four, call, sentence, monkeypatch):
    monkeypatch.setattr(strategies.Does, "call", staticmethod(call))
    with pytest.raises(pg.Error, match=f"TypeError: {sentence}"):
        pg.simulate(**four | {"strategy": strategies.Does})


def test_what_is_only_read_may_be_read_only(four, monkeypatch):
    monkeypatch.setattr(strategies.Does, "call", staticmethod(lambda worker, array: worker.add(array[:3], not_writable())))
    pg.simulate(**four | {"strategy": strategies.Does})


def test_a_worker_is_refused_in_the_calls_of_another(four):
    with pytest.raises(pg.Error, match="ValueError: a worker can be used only in the calls that it is passed to"):
        pg.simulate(**four | {"strategy": strategies.Borrows})


@pytest.mark.parametrize("run, world", [(pg.simulate, {"platform": "k40m-fdr", "workers": 4}), (pg.train, {"workers": 3}), (pg.train, {})])
@pytest.mark.parametrize("optimiser", [*OPTIMISERS, "limited"])
def test_arrays_that_outlive_the_run_keep_its_last_values_and_workers_say_so(task, run, world, optimiser):
    Keeps = strategies.Keeps
    Keeps.arrays.clear()
    rule = {"clip_gradient": 1.0, "clip": "norm", "max_norm": 3.0} if optimiser == "limited" else {"optimiser": optimiser}
    done = run(strategy=Keeps, minibatch=100, **rule, **world, **task | {"learning_rate": 0.001})
    for other in range(3):  # which would use memory that is free
        run(strategy="model_averaging" if world else "sgd", seed=other, **world, **task)
    assert len(Keeps.arrays) > 10
    shapes = {id(array): array.shape for array in Keeps.arrays}
    assert len(set(shapes.values())) == 1 and all(np.isfinite(array).all() for array in Keeps.arrays)
    if not world:
        np.testing.assert_array_equal(Keeps.arrays[-1], done.weights)
    with pytest.raises(ValueError, match="the run has ended"):
        Keeps.kept[0].allreduce(np.zeros(3, np.float32))
    with pytest.raises(ValueError, match="the run has ended"):
        Keeps.kept[1].parameters
