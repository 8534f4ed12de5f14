"""Confidence intervals of means over few seeds."""

from __future__ import annotations

import math
import statistics

T_975 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101,
         2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042)  # Student's t, 1 to 30 degrees of freedom


def half_width(sample: list[float]) -> float:
    """Half of the 95 % confidence interval of the mean (Student's t); 0 for a single value, NaN if one is not finite."""
    if not all(map(math.isfinite, sample)):
        return math.nan
    n = len(sample)
    return T_975[min(n - 1, len(T_975)) - 1] * statistics.stdev(sample) / math.sqrt(n) if n > 1 else 0.0


def half_width_of_another(deviation: float, count: int) -> float:
    """Half of the 95 % interval around the mean of `count` values, at least 2, in which another value of the same kind is expected."""
    return T_975[min(count - 1, len(T_975)) - 1] * deviation * math.sqrt(1 + 1 / count)
