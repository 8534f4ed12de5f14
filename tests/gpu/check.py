#!/usr/bin/env python3
"""Checks the device cuda on this machine's GPU: all tests and all measurements in one report.

    check.py [--programs FOLDER] [--report gpu-report.json] [--seconds S] [--limit S] [--parts NAME...]

The folder holds paragrad, test_backend, test_train and bench_training: a build, or a bundle (make gpu-bundle) with the libraries they need in
lib/ next to them. The report is written after each part, whatever the result, with the program and the card that it is of. Parts: kernels, trainings,
figures, loop, peers, sanitiser; and what the figures are relative to PyTorch's, once both are there.
Exit status 1 if a test failed, 2 if there is no GPU to test.
"""

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

PRECISIONS = {"cuda": "fp32", "cuda:tf32": "tf32", "cuda:bf16": "bf16"}
WEIGHTS = re.compile(r"^weights sha256 ([0-9a-f]{64})$", re.MULTILINE)
FIGURE = re.compile(r"^(?P<model>\S+), minibatch (?P<minibatch>\d+): (?P<samples_per_s>[\d.]+) samples/s, (?P<gflops>[\d.]+) GF/s, "
                    r"SGEMM (?P<gemm_gflops>[\d.]+) GF/s, fraction (?P<fraction>[\d.]+)", re.MULTILINE)
TRAINING = ["--model", "40-256-256-120:relu", "--minibatch", "64", "--learning-rate", "0.05", "--blocks", "50", "--validations",
            "50", "--quiet"]


class Machine:
    """Runs the programs with the libraries next to them."""

    def __init__(self, programs: Path, limit_s: float = 600) -> None:
        self.programs, self.limit_s = programs, limit_s
        library = programs / "lib"
        places = [str(library)] if library.is_dir() else []
        places += [os.environ["LD_LIBRARY_PATH"]] if os.environ.get("LD_LIBRARY_PATH") else []
        places += [str(place) for of_python in sys.path for place in Path(of_python).glob("nvidia/*/lib")]  # PyTorch's cuBLAS and NCCL
        self.environment = os.environ | {"LD_LIBRARY_PATH": ":".join(places)}

    def find(self, name: str) -> str:
        for place in (self.programs / name, self.programs / "tests" / name, self.programs / "tests/bench" / name):
            if place.exists():
                return str(place)
        sys.exit(f"gpu-check: there is no {name} under {self.programs}: make gpu-check builds it, make gpu-bundle bundles it")

    def run(self, name: str, *arguments: str, under: tuple[str, ...] = ()) -> subprocess.CompletedProcess:
        return subprocess.run([*under, self.find(name), *map(str, arguments)], capture_output=True, text=True, timeout=self.limit_s,
                              env=self.environment, check=False)


def card(*fields: str) -> dict[str, str]:
    """Properties of the first GPU, from nvidia-smi."""
    try:
        found = subprocess.run(["nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader"], capture_output=True, text=True,
                               check=True).stdout.splitlines()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        return {}
    return dict(zip(fields, (value.strip() for value in found.split(","))))


class MemoryWatch:
    """The peak memory in use on the card, in MiB, polled twice a second while entered; None if nvidia-smi does not tell."""

    def __enter__(self) -> None:
        self.peak_mib, self.over = None, threading.Event()
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()

    def __exit__(self, *error: object) -> None:
        self.over.set()
        self.thread.join()

    def watch(self) -> None:
        while not self.over.wait(0.5):
            amount = card("memory.used").get("memory.used", "").split()
            if amount and amount[0].isdigit():
                self.peak_mib = max(self.peak_mib or 0, int(amount[0]))


def kernels(machine: Machine) -> list[dict]:
    """The unit tests that concern this GPU."""
    tests = []
    for program, claims in (("test_backend", "kernels against the reference, graphs against single calls"),
                            ("test_train", "samples against those of the host")):
        done = machine.run(program, "[gpu]", "-s", "-d", "yes")
        said = (done.stdout + done.stderr).strip()
        tests.append({"test": claims, "passed": done.returncode == 0,
                      "output": said.splitlines()[-1] if done.returncode == 0 else said[-4000:]})
    return tests


def losses(folder: Path) -> list[float]:
    records = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [record["train_loss"] for record in records if "train_loss" in record]


def trainings(machine: Machine, folder: Path) -> list[dict]:
    """The same training on the CPU and twice on the GPU: an epoch of 100 minibatches, or two epochs for the recurrent network, which
    has few. With one bit per number, a difference in the last digit occasionally flips the sign of a whole step."""
    data = str(folder / "frames.h5")
    made = machine.run("paragrad", "data", "generate", "--out", data, "--samples", "6400", "--valid", "400", "--test", "400")
    if made.returncode != 0:
        return [{"test": "a data file", "passed": False, "output": made.stderr}]
    platform_file = Path(__file__).resolve().parents[2] / "sim/platforms/k40m-fdr.toml"

    def train(name: str, device: str, *more: str) -> tuple[str, list[float], str]:
        done = machine.run("paragrad", "simulate", "--platform", str(platform_file), "--data", data, "--device", device, "--out",
                           str(folder / name), *more)
        found = WEIGHTS.search(done.stdout)
        return (found.group(1) if found else "", losses(folder / name) if found else [], done.stderr)

    tests = []
    sgd = ["--workers", "1", "--strategy", "sgd", "--epochs", "1", *TRAINING]
    lstm = ["--workers", "2", "--strategy", "bmuf", "--model", "40-2xblstm32-120", "--chunks", "21-64+21", "--blocks", "4", "--minibatch",
            "4", "--learning-rate", "0.1", "--epochs", "2", "--quiet"]
    bmuf = ["--workers", "8", "--strategy", "bmuf", "--epochs", "2", *TRAINING]
    one_bit = ["--workers", "4", "--strategy", "data_parallel", "--gradient-bits", "1", "--epochs", "1", *TRAINING]
    for name, options, bound in (("sgd", sgd, 1e-3), ("lstm", lstm, 1e-3), ("bmuf", bmuf, 1e-3), ("one_bit", one_bit, 5e-3)):
        _, expected, _ = train(f"{name}-cpu", "cpu", *options)
        first, mine, error = train(f"{name}-gpu", "cuda", *options)
        again, _, _ = train(f"{name}-again", "cuda", *options)
        tests.append({"test": f"{name}: repeats bit for bit", "passed": bool(first) and first == again, "output": error})
        gaps = [abs(a - b) / abs(b) for a, b in zip(mine, expected)]
        close = len(mine) == len(expected) > 0 and max(gaps) < bound
        tests.append({"test": f"{name}: losses of the CPU within {bound}", "passed": close, "largest": max(gaps, default=None)})
    return tests


def sanitised(machine: Machine) -> list[dict]:
    """Invalid memory accesses. Failing CUDA calls are not reported: NCCL probes some that may fail, and the program checks its own."""
    if not shutil.which("compute-sanitizer"):
        return [{"test": "compute-sanitizer", "passed": None, "output": "not installed"}]
    done = machine.run("test_backend", "[gpu]", under=("compute-sanitizer", "--error-exitcode", "9", "--report-api-errors", "no"))
    return [{"test": "compute-sanitizer", "passed": done.returncode == 0, "output": done.stdout[-2000:]}]


def figures(machine: Machine, seconds: float) -> list[dict]:
    found = []
    for device, precision in PRECISIONS.items():
        done = machine.run("bench_training", str(seconds), device)
        found += [{"precision": precision, **{key: float(value) if key != "model" else value for key, value in match.groupdict().items()}}
                  for match in FIGURE.finditer(done.stdout)]
        if done.returncode != 0:
            found.append({"precision": precision, "failed": done.stderr[-2000:]})
    return found


def loop(machine: Machine, folder: Path, device: str = "cuda:tf32", hidden: str = "7x2048", classes: int = 18002,
         frames: int = 1_048_576, minibatch: int = 1024, workers: int = 64) -> list[dict]:
    """The complete training loop on frames from a file: time waiting for samples, and cost of emulated workers, each of which has a
    block of 16 minibatches in an epoch."""
    data = str(folder / "many.h5")
    made = machine.run("paragrad", "data", "generate", "--out", data, "--samples", frames, "--valid", 1024, "--test", 1024, "--classes",
                       classes, "--separation", 40)
    if made.returncode != 0:
        return [{"figure": "the loop", "failed": made.stderr}]
    platform_file = Path(__file__).resolve().parents[2] / "sim/platforms/k40m-fdr.toml"
    common = ["--data", data, "--context", "5+5", "--model", f"440-{hidden}-{classes}:relu", "--minibatch", minibatch, "--learning-rate",
              "0.001", "--device", device, "--blocks", 1, "--quiet"]

    memory = MemoryWatch()

    def seconds(out: str, epochs: int, *options: str) -> float:
        begin = time.monotonic()
        with memory:
            done = machine.run("paragrad", *options, *common, "--epochs", epochs, "--out", str(folder / out))
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        return time.monotonic() - begin

    memory_of = {}
    emulate = ["simulate", "--platform", str(platform_file), "--splits", workers]
    try:
        seconds("alone", 3, "train", "--strategy", "sgd", "--splits", workers)
        record = json.loads((folder / "alone/metrics.jsonl").read_text().splitlines()[-1])
        two_epochs_s = {}
        for count, strategy in ((1, "sgd"), (workers, "bmuf")):
            options = [*emulate, "--workers", count, "--strategy", strategy]
            two_epochs_s[count] = seconds(f"{count}-long", 3, *options) - seconds(f"{count}-short", 1, *options)
            memory_of[count] = memory.peak_mib
    except RuntimeError as error:
        return [{"figure": "the loop", "failed": str(error)}]
    return [{"figure": "samples per second of the whole loop", "device": device, "value": record["samples"] / record["optimise_s"]},
            {"figure": "share of the time that the loop waits for samples", "value": record["data_s"] / record["optimise_s"]},
            {"figure": f"{workers} emulated workers, samples per second over one worker's", "value": two_epochs_s[1] / two_epochs_s[workers]},
            *({"figure": f"MiB of the card in use, emulated workers: {count}", "value": peak} for count, peak in memory_of.items())]


def peers(limit_s: float) -> list[dict]:
    """PyTorch on the same card, if this Python has it: its output until the limit."""
    script = Path(__file__).with_name("peers.py")
    try:
        done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=limit_s, check=False)
        said, failed = done.stdout, [] if done.returncode == 0 else [{"failed": done.stderr.strip().splitlines()[-1:]}]
    except subprocess.TimeoutExpired as error:
        said, failed = (error.stdout or b"").decode(), [{"failed": f"PyTorch was stopped after {limit_s:.0f} s"}]
    return [json.loads(line) for line in said.splitlines() if line.startswith("{")] + failed


def compared(report: dict) -> list[dict]:
    """Each figure over PyTorch's best at the same precision, if both are of the same card and program."""
    ours, of_peers = (report.get("of", {}).get(part, {}) for part in ("figures", "peers"))
    if any(ours.get(key) != of_peers.get(key) for key in ("card", "program")):
        return []
    ratios = []
    for line in report.get("figures", []):
        theirs = [peer["samples_per_s"] for peer in report.get("peers", []) if "samples_per_s" in peer
                  and (peer["model"], peer["precision"]) == (line.get("model"), line["precision"])]
        if theirs and "samples_per_s" in line:
            ratios.append({"model": line["model"], "precision": line["precision"], "over_pytorch": line["samples_per_s"] / max(theirs)})
    return ratios


# Most important first, in case there is no time for all. Each takes one or a few minutes.
PARTS = {
    "kernels": lambda machine, folder, seconds: kernels(machine),
    "trainings": lambda machine, folder, seconds: trainings(machine, folder),
    "figures": lambda machine, folder, seconds: figures(machine, seconds),
    "loop": lambda machine, folder, seconds: loop(machine, folder),
    "peers": lambda machine, folder, seconds: peers(machine.limit_s),
    "sanitiser": lambda machine, folder, seconds: sanitised(machine),
}


def found_in(part: str, machine: Machine, seconds: float) -> list[dict]:
    """The findings of a part; a timeout or a crash is a finding, too."""
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        try:
            found = PARTS[part](machine, Path(folder), seconds)
        except (OSError, subprocess.SubprocessError, ValueError, LookupError) as error:
            found = [{"test": part, "passed": False, "output": f"{type(error).__name__}: {error}"}]
    print(f"== {part}, {time.monotonic() - begin:.0f} s", flush=True)
    for line in found:
        print({True: "passed ", False: "FAILED ", None: "left out "}[line["passed"]] + line["test"] if "test" in line
              else ", ".join(f"{key} {value}" for key, value in line.items()), flush=True)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=Path, default=Path("build"))
    parser.add_argument("--report", type=Path, default=Path("gpu-report.json"))
    parser.add_argument("--seconds", type=float, default=3, help="seconds per measurement")
    parser.add_argument("--limit", type=float, default=600, help="seconds that a program may take")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS), help="parts to run; the others stay unchanged in the report")
    arguments = parser.parse_args()
    machine = Machine(arguments.programs, arguments.limit)
    probe = machine.run("bench_training", "0", "cuda")
    if probe.returncode == 2:
        print(f"gpu-check: {probe.stderr.strip().removeprefix('bench_training: ')}", file=sys.stderr)
        return 2
    report = json.loads(arguments.report.read_text()) if arguments.report.exists() else {}
    of_now = {"program": machine.run("paragrad", "--version").stdout.strip(), "host": platform.machine(),
              "card": card("name", "driver_version", "memory.total", "clocks.max.sm", "power.limit")}
    for part in arguments.parts:
        report[part] = found_in(part, machine, arguments.seconds)
        report.setdefault("of", {})[part] = of_now | {"written": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
        report["compared"] = compared(report)
        arguments.report.write_text(json.dumps(report, indent=1) + "\n")
    for line in report["compared"]:
        print(f"{line['model']}, {line['precision']}: {line['over_pytorch']:.2f} times PyTorch's samples/s")
    print(f"wrote {arguments.report}")
    return 1 if any(line.get("passed") is False for part in arguments.parts for line in report[part]) else 0


if __name__ == "__main__":
    sys.exit(main())
