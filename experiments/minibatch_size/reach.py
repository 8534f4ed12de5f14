"""Epochs and simulated time to a validation error of 15 % or less, from the runs of size full (mean over the seeds)."""

import json
import statistics
from pathlib import Path

RUNS = Path(__file__).parent / "runs" / "full" / "fashion-mnist"
TARGET = 0.15


def first_reached(folder: Path) -> tuple[int, float] | None:
    """Epoch and simulated time at that point."""
    for line in (folder / "metrics.jsonl").read_text().splitlines():
        record = json.loads(line)
        if "epoch" in record and record["valid_error"] <= TARGET:
            return record["epoch"], record["time_s"]
    return None


def main() -> None:
    print(f"{'run':<10} {'epochs':>7} {'simulated s':>12}")
    for run in ("size1", "size8", "size64", "on1-512", "on1-4096", "on8-8", "on8-64", "on8-512", "on8-4096", "on8-all"):
        reached = [first_reached(folder) for folder in sorted(RUNS.glob(f"{run}-s?"))]
        if not reached or None in reached:
            print(f"{run:<10} {'-':>7} {'-':>12}")
            continue
        epochs, seconds = (statistics.fmean(column) for column in zip(*reached))
        print(f"{run:<10} {epochs:>7.1f} {seconds:>12.3f}")


if __name__ == "__main__":
    main()
