#!/usr/bin/env python3
"""Does the simulator predict what a slow disk costs? Trains on a data file while a control group limits the bandwidth of its disk,
with and without reading ahead (--read-ahead), simulates the same (--io prefetch, blocking), and prints both. Bandwidths are chosen so that
reading takes half as long as computing, as long, and twice as long. Needs root, control groups that limit disks, and an otherwise idle
machine. Standard library only; ends with 1 if a total is off by more than the tolerance.

Every run reads from the disk: the file is removed from the page cache before it. The fastest of some runs counts, as in the calibration."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MODES = {"blocking": "false", "prefetch": "true"}  # of --io in the simulator: of --read-ahead
STORAGE = '\n[storage]\nclient_bandwidth = "{0}Bps"\nread_bandwidth = "{0}Bps"\nwrite_bandwidth = "{0}Bps"\nopen = "0s"\nparallel_opens = 16\n'


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/paragrad")
    parser.add_argument("--folder", type=Path, default=Path("build"), help="folder on a disk, for the data file (default: build)")
    parser.add_argument("--samples", type=int, default=800000)
    parser.add_argument("--dim", type=int, default=80)
    parser.add_argument("--sequence-length", type=int, default=2000, help="rows that are stored and read together")
    parser.add_argument("--model", default="80-512-120:relu")
    parser.add_argument("--blocks", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--tolerance", type=float, default=0.15)
    return parser.parse_args()


def run(*command: object, **more) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **more)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def result(folder: Path) -> dict[str, float]:
    return json.loads((folder / "manifest.json").read_text())["result"]


def disk_of(path: Path) -> str:
    """major:minor of the disk that holds the file."""
    device = path.stat().st_dev
    place = Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}").resolve()
    if not place.exists():
        sys.exit(f"{path} lies on no disk: choose another --folder")
    return ((place.parent if (place / "partition").exists() else place) / "dev").read_text().strip()


@contextmanager
def limited(disk: str, bytes_per_s: float) -> Iterator[Path]:
    """A control group whose processes read from the disk at most this fast; its list of processes."""
    first, second = Path("/sys/fs/cgroup/blkio"), Path("/sys/fs/cgroup")
    group = (first if first.exists() else second) / f"paragrad-{os.getpid()}"
    limit, text = (("blkio.throttle.read_bps_device", f"{disk} {bytes_per_s:.0f}") if first.exists() else
                   ("io.max", f"{disk} rbps={bytes_per_s:.0f}"))
    try:
        if not first.exists():
            (second / "cgroup.subtree_control").write_text("+io")
        group.mkdir()
        (group / limit).write_text(text)
    except OSError as error:
        sys.exit(f"cannot limit the bandwidth of the disk {disk}: {error}")
    try:
        yield group / "cgroup.procs"
    finally:
        group.rmdir()


def forget(path: Path) -> None:
    """Removes the file from the page cache."""
    with path.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def main() -> int:
    options = parse()
    with tempfile.TemporaryDirectory(prefix="storage-", dir=options.folder) as name:
        return measure(options, Path(name))


def measure(options: argparse.Namespace, folder: Path) -> int:
    data, platform = folder / "data.h5", folder / "platform.toml"
    run(options.program, "data", "generate", "--out", data, "--samples", options.samples, "--valid", 100, "--test", 100, "--dim", options.dim,
        "--sequence-length", options.sequence_length)
    run(options.program, "data", "partition", data, "--workers", 1, "--blocks", options.blocks, "--utterances")
    os.sync()
    run(options.program, "calibrate", "--out", platform, "--passes", 6, "--quiet")
    calibrated = platform.read_text()
    task = ["--data", data, "--model", options.model, "--context", "0+0", "--learning-rate", 0.02, "--minibatch", 256, "--epochs", 1,
            "--blocks", options.blocks, "--quiet"]

    def trained(*words: object, **more) -> dict[str, float]:
        run(options.program, "train", *task, "--out", folder / "real", "--overwrite", *words, **more)
        return result(folder / "real")

    def simulated(*words: object) -> dict[str, float]:
        run(options.program, "simulate", "--device", "meta", *task, "--platform", platform, "--out", folder / "simulated", "--overwrite", *words)
        return result(folder / "simulated")

    size = options.samples * options.dim * 4
    computing_s = min(trained()["training_s"] for _ in range(options.rounds + 1))
    print(f"{options.model}, one epoch of {size / 1e6:.0f} MB in {options.blocks} blocks; from memory {computing_s:.2f} s "
          f"(predicted: {simulated()['training_s']:.2f} s); the fastest of {options.rounds} runs")
    print(f"{'reading':>8} {'MB/s':>7}  {'mode':<9}{'predicted s':>12}{'measured s':>12}{'ratio':>7}{'waited s':>10}   all runs")
    wrong = 0
    for share in (0.5, 1, 2):
        bandwidth = size / (share * computing_s)
        platform.write_text(calibrated + STORAGE.format(f"{bandwidth:.0f}"))
        for mode, ahead in MODES.items():
            predicted_s = simulated("--io", mode)["training_s"]
            runs = []
            for _ in range(options.rounds):
                forget(data)
                with limited(disk_of(data), bandwidth) as processes:
                    runs.append(trained("--read-ahead", ahead, preexec_fn=lambda group=processes: group.write_text("0")))
            best = min(runs, key=lambda one: one["training_s"])
            ratio = predicted_s / best["training_s"]
            every = " ".join(f"{one['training_s']:.2f}" for one in runs)
            print(f"{share * computing_s:>6.2f} s {bandwidth / 1e6:>7.1f}  {mode:<9}{predicted_s:>12.2f}{best['training_s']:>12.2f}{ratio:>7.2f}"
                  f"{best['data_s']:>10.2f}   {every}")
            wrong += abs(ratio - 1) > options.tolerance
    print(f"{wrong} of 6 trainings are off by more than {options.tolerance:.0%}" if wrong else f"all within {options.tolerance:.0%}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
