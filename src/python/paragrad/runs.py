"""Reads run folders: a run's options, origin, learning curve and result. Python 3.11 and its standard library only.

    from paragrad import Run
    run = Run("runs/bmuf8")
    run.manifest["program"]["commit"], run.result["test_error"], run.curve

Tables are lists of dicts, one per row.
"""

from __future__ import annotations

import html
import json
import math
import platform
import re
import statistics
import tempfile
import tomllib
from functools import cached_property, wraps
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, TypeVar

if TYPE_CHECKING:
    import numpy
    import pandas

TEMPORARY = "paragrad-"  # how the names of temporary folders begin

Rows = list[dict[str, Any]]
Parsed = TypeVar("Parsed")

# Commands of the program that may follow a run, with its model or its folder; then <command>.json is in its folder.
AFTER = ("decode", "sharpness", "retime")
ABOUT = {"world": str, "workers": int, "strategy": str, "seed": int}  # of every training
MACHINE = "machine"  # among a run's values: what its rounding depends on


class Error(Exception):
    """What the user can fix, in one sentence. Options are named in `backquotes`."""


def needed(what: str, missing: ModuleNotFoundError) -> Exception:
    """An Error if `missing` is a package from PyPI, otherwise `missing` itself."""
    package = (missing.name or "").partition(".")[0]
    if package not in ("matplotlib", "numpy", "pandas", "torch"):
        return missing
    return Error(f"{what} needs the package {package}, which this Python does not have: pip install {package}")


def of_its_files(function: Callable[[Any], Parsed]) -> Callable[[Any], Parsed]:
    """Of a Run, where files that are not what a run writes are an Error, whatever they contain."""
    @wraps(function)
    def checked(run: Any) -> Parsed:
        try:
            return function(run)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise Error(f"'{run.folder}' is damaged: its files do not contain what a run records ({type(error).__name__}: {error})") from error
    return checked


class Run:
    """The folder of one run, finished or not. `made_by`: the command that makes it, for the message if there is none."""

    report = ""                # what the program printed, if this process has made the run
    _kept: object | None = None  # deletes a temporary folder when the run is no longer used
    _model: object | None = None  # the model in Python that was given for it

    def __init__(self, folder: Path | str, made_by: str = "") -> None:
        self.folder = Path(folder)
        if not (self.folder / "manifest.json").exists():
            raise Error(f"'{folder}' is not a run folder: it has no manifest.json{made_by and f'; {made_by} makes it'}{fate_of(self.folder)}")

    def __reduce__(self) -> tuple:
        """A copy of a temporary run, perhaps in another process, has its own temporary folder."""
        files = {str(path.relative_to(self.folder)): path.read_bytes() for path in self.folder.rglob("*") if path.is_file()} if self.is_temporary else None
        return unpickled, (self.folder, self.folder.absolute(), self.report, files)

    def __repr__(self) -> str:
        return f"Run({str(self.folder)!r}{''.join(f', {value}' for value in self._summary().values())})"

    def _repr_html_(self) -> str:
        rows = {"folder": str(self.folder)} | self._summary()
        return f"<table>{''.join(f'<tr><th>{html.escape(name)}</th><td>{html.escape(value)}</td></tr>' for name, value in rows.items())}</table>"

    def _summary(self) -> dict[str, str]:
        """What it is and how far it is, for people; {} if the folder does not tell."""
        try:
            about = self.about
            workers = f"{about['workers']} {'emulated ' if self.clock == 'simulated' else ''}worker{'s' if about['workers'] != 1 else ''}"
            summary = {"strategy": str(about["strategy"]), "workers": workers}
            if not self.finished:
                return summary | {"state": "not finished"}
            found = {name: self.result.get(key) for name, key in (("test error", "test_error"), ("validation error", "valid_error"), ("training error", "train_error"))}
            return summary | next(({name: f"{name} {100 * value:.2f} %"} for name, value in found.items() if value is not None and math.isfinite(value)), {})
        except (Error, LookupError, TypeError, ValueError):
            return {}

    def predict(self, x: Any, lengths: Any = None, layout: str | None = None) -> numpy.ndarray:
        """See paragrad.predict."""
        from .prediction import predict  # the compiled module
        return predict(self, x, lengths, layout)

    @property
    def is_temporary(self) -> bool:
        """Whether the folder is deleted when this object is no longer used."""
        return self._kept is not None

    @cached_property
    def config(self) -> dict[str, Any]:
        """The options that it uses."""
        return read(self.folder / "config.toml", tomllib.loads)

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """Its origin (program, host, data, platform) and its result."""
        return read(self.folder / "manifest.json", json_object)

    @property
    def about(self) -> dict[str, Any]:
        """World, workers, strategy, seed and what else the options leave to defaults and the data."""
        about = self.manifest.get("run")
        if isinstance(about, dict) and all(type(about.get(name)) is kind for name, kind in ABOUT.items()):
            return about
        raise Error(f"'{self.folder}' is not the folder of a training, by its manifest.json")

    @property
    def finished(self) -> bool:
        return "result" in self.manifest

    @property
    def clock(self) -> str:
        """Of its times: "simulated" or "wall"."""
        return "simulated" if self.about["world"] == "simulation" else "wall"

    @cached_property
    @of_its_files
    def result(self) -> dict[str, Any]:
        """The metrics of experiments/harness/README.md that need no other run."""
        if not self.finished:
            raise Error(f"the run '{self.folder}' has not finished")
        return result_of(self.folder)

    @cached_property
    def metrics(self) -> Rows:
        """All records of metrics.jsonl."""
        return records_of(self.folder)

    @property
    @of_its_files
    def pretraining(self) -> Rows:
        """A record per layer and epoch."""
        return [record for record in self.metrics if record.get("phase") == "pretrain"]

    @cached_property
    @of_its_files
    def progress(self) -> Rows:
        """The records of the network's training; `epochs`: passes over the training set so far; `total_sent_bytes`: per worker so
        far (NaN if unknown)."""
        whole = self.manifest.get("data", {}).get("samples", {}).get("train")
        records = training_records(self.folder)
        sent = accumulate(math.nan if (count := record.get("sent_bytes")) is None else count for record in records)
        return [record | {"epochs": record["samples"] / whole if whole else record["epoch"], "total_sent_bytes": total}
                for record, total in zip(records, sent)]

    @property
    @of_its_files
    def history(self) -> pandas.DataFrame:
        """`progress` as a table of pandas."""
        try:
            import pandas
        except ModuleNotFoundError as missing:
            raise needed("Run.history", missing) from None
        return pandas.DataFrame(self.progress)

    @property
    def weights(self) -> numpy.ndarray:
        """The trained model's parameters, flat, as strategies see them."""
        from ._core import parameters_of  # the compiled module
        return parameters_of(str(self.folder / "checkpoint.h5"))

    @property
    @of_its_files
    def weights_sha256(self) -> str:
        """The SHA-256 of the weights, which the run has printed."""
        self.about  # raises Error if it is not the folder of a training
        return self.result["parameters_sha256"]

    @property
    @of_its_files
    def curve(self) -> Rows:
        """The records of `progress` that have a validation error."""
        return [record for record in self.progress if record.get("valid_error") is not None]

    @cached_property
    @of_its_files
    def staleness(self) -> Rows:
        """The histogram of an asynchronous run: `updates` between fetch and push (or a range of them), `share` of the gradients."""
        counted = [(key.removeprefix("staleness_"), value)
                   for key, value in self.result.items() if re.match(r"staleness_\d", key)]
        total = sum(count for _, count in counted) or 1
        return [{"updates": updates, "share": count / total} for updates, count in counted]

    @property
    @of_its_files
    def features(self) -> str:
        """The type of the data's features as they are stored; "" if it was not recorded."""
        return self.manifest.get("data", {}).get("features", "")

    @cached_property
    @of_its_files
    def timeline(self) -> Timeline:
        """The timeline of a run with the option `timeline`."""
        path = self.folder / "timeline.json"
        if not path.exists():
            raise Error(f"'{self.folder}' has no timeline: run it with `timeline`")
        return Timeline(read(path, json_object))


def unpickled(folder: Path, absolute: Path, report: str, files: dict[str, bytes] | None) -> Run:
    """absolute: the folder, as the working directory may be another one now. files: of a temporary run."""
    kept = None
    if files is not None:
        from .temporary import TemporaryFolder  # which needs the compiled module
        kept = TemporaryFolder()
        folder = absolute = kept.path / "run"
        for name, content in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
    run = Run(folder if folder.absolute() == absolute else absolute)
    run.report, run._kept = report, kept
    return run


def fate_of(folder: Path) -> str:
    """Why a temporary run is missing, for the end of a message."""
    if not folder.parent.name.startswith(TEMPORARY) or folder.parent.parent != Path(tempfile.gettempdir()):
        return ""
    return "; it was temporary, and deleted with the object that the training returned: give `out`"


def runs_in(folder: Path | str) -> list[Run]:
    """The run of a run folder; of a search's folder its runs that have recorded anything, in the order of their names."""
    folder = Path(folder)
    if not (folder / "search.json").exists():
        return [Run(folder)]
    found = [Run(metrics.parent) for metrics in sorted(folder.glob("*/metrics.jsonl"))
             if metrics.stat().st_size and (metrics.parent / "manifest.json").exists()]
    if not found:
        raise Error(f"no run of the search '{folder}' has recorded anything yet")
    return found


class Timeline:
    """What every worker did when, in seconds."""

    def __init__(self, trace: dict[str, Any]) -> None:
        events = trace["traceEvents"]
        self.about: dict[str, Any] = trace["otherData"]
        self.rows: dict[int, str] = {event["tid"]: event["args"]["name"] for event in events if event.get("name") == "thread_name"}
        self.spans: Rows = [{"row": event["tid"], "name": event["name"], "begin_s": event["ts"] * 1e-6,
                             "end_s": (event["ts"] + event["dur"]) * 1e-6} for event in events if event["ph"] == "X"]

    def totals(self, row: int) -> dict[str, float]:
        """Seconds by the name of a span. Spans are nested, so the sums exceed the total."""
        found: dict[str, float] = {}
        for span in self.spans:
            if span["row"] == row:
                found[span["name"]] = found.get(span["name"], 0.0) + span["end_s"] - span["begin_s"]
        return found


def read(path: Path, parse: Callable[[str], Parsed]) -> Parsed:
    try:
        return parse(path.read_text())
    except OSError as error:
        raise Error(f"cannot read '{path}': {error.strerror}{'' if path.parent.exists() else fate_of(path.parent)}") from error
    except (ValueError, RecursionError) as error:
        raise Error(f"'{path}' is damaged: {error}") from error


def json_object(text: str) -> dict[str, Any]:
    if isinstance(value := json.loads(text), dict):
        return value
    raise ValueError("it holds no JSON object")


def result_of(folder: Path) -> dict[str, Any]:
    """The manifest's "result" and a few facts about the run."""
    manifest = read(folder / "manifest.json", json_object)
    found = manifest["result"] | manifest["result"].get("strategy", {})
    result = {key: math.nan if value is None else value for key, value in found.items() if key != "strategy"}
    result[MACHINE] = machine_of(manifest)
    if test := manifest.get("data", {}).get("samples", {}).get("test"):
        result["test_samples"] = test
    result |= manifest.get("simulation", {}).get("failures", {})
    if link := manifest.get("simulation", {}).get("busiest_link"):
        result["busiest_link_share"] = link["share"]
    if "samples" in result:
        result["samples_per_s"] = result["samples"] / result["training_s"]
    if "training_s" in result:
        result["total_s"] = result.get("pretraining_s", 0) + result["training_s"]
        result["epoch_s"] = result["training_s"] / max(result.get("epochs", 1), 1)
    for name in ("splits", "blocks", "workers"):
        if name in manifest["run"]:
            result[name] = manifest["run"][name]
    for more in (*(f"{command}.json" for command in AFTER), "cost.json"):
        if (folder / more).exists():
            result |= flat(read(folder / more, json_object))
    if records := validations(folder):
        result["mean_valid_error"] = statistics.fmean(record["valid_error"] for record in records)
    if len(rates := rates_between(training_records(folder))) > 1:
        result["peak_samples_per_s"] = max(rates)
    return result


def flat(values: dict[str, Any]) -> dict[str, Any]:
    """A value for each of a metric's platforms, reached_s_ethernet_1g, instead of a table by their names; infinity instead of None, where
    a loss was never reached."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        for one, of in value.items() if isinstance(value, dict) else [("", value)]:
            key = f"{name}_{re.sub(r'[^A-Za-z0-9]', '_', one)}" if one else name
            if key in found:
                raise Error(f"two platforms would have the metric {key}: rename one")
            found[key] = of
    return {name: math.inf if value is None and name.startswith("reached") else value for name, value in found.items()}


def machine_of(manifest: dict[str, Any]) -> str:
    """What rounding depends on: processor, BLAS and the kernels chosen for it, compiler, and the C library, of this machine."""
    host, program = manifest["host"], manifest["program"]
    return "; ".join((host.get("device") or host["processor"], program["blas"], program["compiler"], " ".join(platform.libc_ver())))


def records_of(folder: Path) -> Rows:
    """The records of metrics.jsonl, without one that is still being written."""
    path = folder / "metrics.jsonl"

    def records(text: str) -> Rows:
        return [json_object(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]

    return read(path, records) if path.exists() else []


def training_records(folder: Path) -> Rows:
    """The records of the training (without pretraining), one per validation."""
    return [record for record in records_of(folder) if "epoch" in record and "phase" not in record]


def validations(folder: Path) -> Rows:
    """Those that have a validation error."""
    return [record for record in training_records(folder) if record.get("valid_error") is not None]


def rates_between(records: Rows) -> list[float]:
    """Samples per second from one record to the next."""
    places = [(0, 0.0), *((record["samples"], record["time_s"]) for record in records)]
    return [(samples - before) / (time - began) for (before, began), (samples, time) in zip(places, places[1:]) if time > began]
