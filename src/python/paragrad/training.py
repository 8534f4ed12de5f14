"""Runs the program's commands in this process."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from .compressor import Compressor, GivenCompressor
from .given import Given
from .keywords import documented
from .model import GivenModel, Model, pair_of, shape_of
from .progress import followed, is_interactive
from .runs import Error, Run, fate_of
from .searches import Search
from .strategy import Strategy
from .temporary import TemporaryFolder

if TYPE_CHECKING:
    from typing import Unpack

    from ._options import SimulateOptions, TrainOptions

_one_at_a_time = threading.Lock()
_runs_in = 0                     # the thread that runs a command
_last_failed: Run | None = None  # of those in temporary folders


def _program() -> str:
    """The program that was built or installed with this package, for commands that start it (search, launch); "" if there is none."""
    module = Path(_core.__file__)
    if (built := module.parents[2] / "paragrad").is_file():  # next to build/python
        return str(built)
    with contextlib.suppress(metadata.PackageNotFoundError):
        files = [Path(file.locate()).resolve() for file in metadata.files("paragrad") or ()]
        if module.resolve() in files:  # this package, not one that is installed as well
            return next((str(file) for file in files if file.name == "paragrad" and file.is_file()), "")
    return ""


_core.set_program(_program())


def words_of(options: dict[str, Any]) -> list[str]:
    """learning_rate=0.1 becomes --learning-rate=0.1. None leaves an option out."""
    words = []
    for name, value in options.items():
        if value is None:
            continue
        if isinstance(value, np.generic):
            value = value.item()  # float32's text is not the number itself
        if isinstance(value, bool):
            value = "true" if value else "false"
        elif isinstance(value, (list, tuple, np.ndarray)):
            value = ",".join(str(one.item() if isinstance(one, np.generic) else one) for one in value)
        words.append(f"--{name.replace('_', '-')}={value}")
    return words


def command(*words: Any, **options: Any) -> str:
    """Runs a command, as `paragrad WORDS --OPTIONS`, and returns what it prints.

    command("compare", "runs/a", "runs/b") is `paragrad compare runs/a runs/b`; a Run or a Search stands for its folder. Raises Error with the
    program's sentence.
    """
    texts = [str(word.folder if isinstance(word, Run | Search) else word) for word in words]
    for text in texts:
        if (fate := fate_of(Path(text))) and not Path(text).exists():
            raise Error(f"'{text}' is missing{fate}")
    return _command([*texts, *words_of(options)])


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """While nothing else of this process uses the program's code."""
    if _core.in_user_code():
        raise Error("a strategy, a model or a compressor cannot run commands or predict while it trains: do so before or after the training")
    global _runs_in
    if _runs_in == threading.get_ident():
        raise Error("a signal's handler cannot run commands or predict while a command runs: do so afterwards")
    with _one_at_a_time:
        try:
            _runs_in = threading.get_ident()
            yield
        finally:
            _runs_in = 0


def _command(words: list[str], given: Given | None = None, model: GivenModel | None = None, compressor: GivenCompressor | None = None) -> str:
    with _alone():
        code, printed = _core.run(words, given, model, compressor)
    if code != 0:
        raise Error(f"paragrad {words[0]} ended with exit code {code}")
    return printed


def _leads() -> bool:
    """Whether this process is rank 0, or was not started by mpiexec."""
    return next((os.environ[name] for name in ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID") if name in os.environ), "0") == "0"


def _run(name: str, strategy: str | type[Strategy] | Strategy | None, out: str | Path | None, progress: bool | None,
         options: dict[str, Any], leads: bool = True) -> Run | None:
    """leads: whether this process writes the run folder."""
    from .datasets import file_of  # which runs commands
    given = None if strategy is None or isinstance(strategy, str) else Given(strategy)
    given_model, compressor = given_model_of(options), compressor_of(options)
    kept = TemporaryFolder() if out is None else None
    out = kept.path / "run" if kept else Path(out)
    on_epoch = options.pop("on_epoch", None)
    if on_epoch is not None and not callable(on_epoch):
        raise Error(f"on_epoch must be a function of a record, not {type(on_epoch).__name__}")
    if isinstance(options.get("init"), Run):
        options["init"] = options["init"].folder / "checkpoint.h5"
    data = file_of(options.pop("data", None), out if leads and not kept else None, given_model.layout if given_model else None)
    if given and (twice := given.options.keys() & {name.replace("_", "-") for name in options}):
        raise Error(f"`{min(twice)}` follows from the strategy that is given: leave it out")
    options |= {"strategy": strategy} if isinstance(strategy, str) else given.options if given else {}
    progress = is_interactive() if progress is None else progress
    try:
        with followed(out, progress, on_epoch, bool(options.get("resume"))) if leads else contextlib.nullcontext():
            printed = _command([name, *words_of({"data": data.given, "out": out, "quiet": options.pop("quiet", True)} | options)], given, given_model, compressor)
    except (Error, KeyboardInterrupt) as error:
        data.forget_unless_used_by(out)
        if leads:
            _explain(error, out, kept)
        raise
    if not leads:
        return None
    if options.get("overwrite"):
        data.remove_others(out)
    run = Run(out)
    run.report, run._kept, run._model = printed, kept, given_model
    return run


def given_model_of(options: dict[str, Any]) -> GivenModel | None:
    """That of the options, in which its name takes its place, and its loss is named."""
    if options.get("model") is None or isinstance(options["model"], str):
        return None
    given = model_of(options["model"], options.get("data"))
    if options.get("sync_batch_norm"):
        raise Error("`sync-batch-norm` is for networks of Paragrad's own, whose statistics it can sum: leave it out")
    if given.has_loss and options.get("loss") not in (None, "python"):
        raise Error("`loss` is the model's own: leave it out")
    options |= {"model": given.text} | ({"loss": "python"} if given.has_loss else {})
    return given


def compressor_of(options: dict[str, Any]) -> GivenCompressor | None:
    """That of the options, in which its name takes its place."""
    given = {name: value for name in ("compression", "outer_compression") if (value := options.get(name)) is not None and not isinstance(value, str)}
    for name, value in given.items():
        if not isinstance(value, Compressor):
            raise Error(f"{name} must be a text or an object of a class derived from paragrad.Compressor, not {type(value).__name__}")
    if not given:
        return None
    if len({id(value) for value in given.values()}) > 1:
        raise Error("compression and outer_compression must be the same object, as a run has one compressor in Python")
    compressor = GivenCompressor(next(iter(given.values())))
    options |= dict.fromkeys(given, f"python:{compressor.text}")
    return compressor


def model_of(model: Any, data: Any) -> GivenModel:
    """data: of a training, or (x, None)."""
    if not isinstance(model, Model):
        hint = ": write paragrad.torch(MODULE)" if hasattr(model, "named_parameters") else ""
        raise Error(f"model must be a text or an object of a class derived from paragrad.Model, not {type(model).__name__}{hint}")
    if hasattr(model, "_fit"):
        model._fit(sample_shape(model, data))
    return GivenModel(model)


def sample_shape(model: Any, data: Any) -> tuple[int, ...]:
    """By the model, or by the arrays of the data."""
    if tokens := pair_of(model.name, model.tokens):
        return (tokens[1],)
    if model.inputs is None:
        from .datasets import array_of
        arrays = data if isinstance(data, Mapping) else {"x": data[0]} if isinstance(data, tuple) and data else {}
        for name, values in arrays.items():
            if name[0] in "xX" and values is not None:
                return array_of(name, values).shape[1:]
        raise Error("give torch() the `inputs`, the shape of a sample: a data file has rows of numbers only")
    return shape_of(model.name, model.inputs)


def _explain(error: Error | KeyboardInterrupt, out: Path, kept: TemporaryFolder | None) -> None:
    """Adds what is left of the run, and how to continue it."""
    global _last_failed
    text = str(error)
    if isinstance(error, KeyboardInterrupt):
        is_saved = (out / "state" / "latest.json").exists()
        text = "the training was interrupted: " + ("resume=True continues it" if is_saved else
                                                   "its state was not saved, which needs checkpoint_every, so it cannot be continued")
    if kept and (out / "manifest.json").exists():
        _last_failed = Run(out)
        _last_failed._kept = kept
        text += f"; its folder '{out}' is deleted when Python ends or the next run without `out` fails: give `out` to keep it"
    error.args = (text,)


@documented("simulate")
def simulate(*, data: Any = None, model: str | Model | None = None, workers: int | None = None, platform: str | Path | None = None,
             strategy: str | type[Strategy] | Strategy | None = None, out: str | Path | None = None, progress: bool | None = None,
             on_epoch: Callable[[dict[str, Any]], Any] | None = None, **options: Unpack[SimulateOptions]) -> Run:
    """Trains with emulated workers on a simulated clock: `paragrad simulate`, whose options are keywords with underscores.

    data: a data file, (x, y), (table, "column") of pandas or Polars, or a dict of arrays as dataset() takes them.
    model: a text such as "40-64-120:relu" or "zoo:resnet50", paragrad.torch(MODULE), or an object of a class derived from Model.
    platform: a file, or the name of a built-in one.
    strategy: a name, a class derived from Strategy, or an instance of one that is a dataclass.
    out: the run folder; by default a temporary one, deleted with the returned Run. A data file of arrays is saved in it.
    progress: whether a line on stderr shows the latest epoch and its errors; by default at the Python prompt and in notebooks.
    on_epoch: called with the record of each epoch, a dict as in Run.metrics, soon after it is written, on another thread.
    init: a checkpoint.h5 or a Run whose weights to begin with.
    """
    run = _run("simulate", strategy, out, progress, {**options, "data": data, "model": model, "workers": workers, "platform": platform, "on_epoch": on_epoch})
    assert run is not None
    return run


@documented("train")
def train(*, data: Any = None, model: str | Model | None = None, strategy: str | type[Strategy] | Strategy | None = None, out: str | Path | None = None,
          progress: bool | None = None, on_epoch: Callable[[dict[str, Any]], Any] | None = None, **options: Unpack[TrainOptions]) -> Run | None:
    """Trains on this machine or, if mpiexec started this process, on its ranks: `paragrad train`. Options as in simulate.

    Returns the run, or None on ranks other than 0. MPI can be initialised only once per process: for several trainings under
    mpiexec, import mpi4py.MPI first.
    """
    return _run("train", strategy, out, progress, {**options, "data": data, "model": model, "on_epoch": on_epoch}, _leads())
