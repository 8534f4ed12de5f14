"""The sides of a claim: what they name, and their values by the results of runs."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from config import any_of
from results import NotRun, values

FORMS = re.compile(r"(?:(?P<form>least|rank)\((?P<pattern>[^(),]+)(?:, *(?P<other>\w+))?\)|(?P<run>[^()]+))\.(?P<metric>\w+)")

Runs = dict[str, dict[int, dict[str, Any]]]  # the results on a data set: run, seed


@dataclass(frozen=True)
class Term:
    """`run.metric`; `least(pattern).metric`, of the run with the smallest mean among those that match; or `rank(pattern, other).metric`,
    the rank correlation (Spearman's) of two metrics over the runs that match, from -1 to 1."""

    text: str
    form: str  # "least", "rank" or "", of a run
    runs: str  # a pattern, or the run
    metric: str
    other: str = ""

    @property
    def metrics(self) -> list[str]:
        return [self.metric, self.other] if self.other else [self.metric]

    def among(self, names: Iterable[str]) -> list[str]:
        """The runs that it is about, of those with these names; its run, whether it is there or not."""
        return [name for name in names if any_of([self.runs], name)] if self.form else [self.runs]

    def values(self, runs: Runs, baselines: dict[str, str]) -> list[float]:
        """For all seeds. Throws NotRun or UserError."""
        if not self.form:
            return values(runs, baselines, self.runs, self.metric)
        names = self.among(baselines)  # of all runs of the size
        found = [values(runs, baselines, name, self.metric) for name in names]
        if not found:
            raise NotRun(f"'{self.text}': no such run is in this size")
        if self.form == "least":
            return min(found, key=lambda one: worst_if_unknown(statistics.fmean(one)))
        others = [values(runs, baselines, name, self.other) for name in names]
        return [rank_correlation(list(one), list(other)) for one, other in zip(zip(*found), zip(*others))]


def read_term(side: str) -> Term | None:
    """None: neither of the forms."""
    match = FORMS.fullmatch(side)
    if match is None or (match["form"] == "rank") != (match["other"] is not None):
        return None
    return Term(side, match["form"] or "", match["pattern"] or match["run"], match["metric"], match["other"] or "")


def terms_of(claim: dict[str, Any]) -> Iterator[Term]:
    """Those of both sides that are not numbers. The claim is one that the grammar has accepted."""
    for side in (claim["left"], claim["right"]):
        if isinstance(side, str) and (term := read_term(side)):
            yield term


def worst_if_unknown(value: float) -> float:
    """NaN, of a run that diverged, ranks last."""
    return math.inf if math.isnan(value) else value


def rank_correlation(one: list[float], other: list[float]) -> float:
    """0 if either has only equal values."""
    ranks = [ranked([worst_if_unknown(value) for value in side]) for side in (one, other)]
    if any(len(set(side)) < 2 for side in ranks):
        return 0.0
    return statistics.correlation(*ranks)


def ranked(numbers: list[float]) -> list[float]:
    """Each one's place in the order, equal ones sharing the mean of theirs."""
    return [sum(other < value for other in numbers) + (sum(other == value for other in numbers) - 1) / 2 for value in numbers]
