"""Checks a config.toml against the keys that README.md in this folder describes, and its parts against each other: an entry
without effect is an error."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Collection, Iterator
from typing import Any

from config import BOUNDS, STATED, Run, UserError, all_runs, any_of, filled, is_judged, spelled_out, tuned_by
from paragrad.runs import AFTER
from results import is_relative
from schema import CONFIG, Kind
from terms import Term, read_term

# Options that a run cannot have, and why.
NOT_OF_RUNS = {
    **dict.fromkeys(("host-threads", "jobs", "out", "overwrite", "quiet", "result", "resume"), "which the harness sets itself"),
    **dict.fromkeys(("seed", "seeds", "draw-seed"), "which the seeds of the size set"),
    "data": "which [[data]] sets",
    "init": "which [initial] sets",
    "config": "but options have to be in config.toml itself",
    **dict.fromkeys(("help", "only-rank", "part", "parts", "write-jobs"), "with which nothing is run"),
}
MEASURES = ("valid_error", "valid_loss", "train_error", "train_loss")  # of `paragrad search`
OPERATORS = ("<=", ">=", "<", ">")

Config = dict[str, Any]


class Mistake(Exception):
    """A one-sentence message without the file's name."""


def unknown(what: str, key: str, known: Collection[str]) -> Mistake:
    close = difflib.get_close_matches(key, known, n=1)
    return Mistake(f"{what} '{key}'; " + (f"did you mean '{close[0]}'?" if close else f"known: {listed(known)}"))


def listed(names: Collection[str]) -> str:
    return ", ".join(list(names)[:12]) + (", …" if len(names) > 12 else "")


def check(where: str, config: Config) -> None:
    """where: the file's name for the message."""
    try:
        check_keys("", config, CONFIG)
        check_sizes(config)
        runs = {size: check_runs(config, size) for size in config["size"]}
        every = {run.name: run for of_size in runs.values() for run in of_size}
        check_lone_runs(config, every)
        check_options(config, [run for of_size in runs.values() for run in of_size])
        check_data(config)
        check_tuning(config, [run for of_size in runs.values() for run in of_size])
        for claim in config.get("claim", []):
            check_stated(named("claim", claim), claim)
            check_claim(claim, config, runs)
        for entry in config.get("published", []):
            check_published(entry)
        for kind, patterns in (("repeats", "runs"), ("table", "runs"), ("published", "rows")):
            for entry in config.get(kind, []):
                check_patterns(named(kind, entry), patterns, entry.get(patterns, []), list(every))
        for mark in config.get("stale", []):
            check_mark(mark, config, runs)
        for entry in config.get("repeats", []):
            check_repeats(entry, config["size"])
        for entry in config.get("table", []):
            check_table(entry, list(every.values()))
            check_along(entry, config.get("data", []))
    except (Mistake, UserError) as mistake:
        raise UserError(f"{where}: {mistake}") from mistake
    except KeyError as error:
        raise UserError(f"{where} lacks {error}, which a run's name or its baseline uses in braces") from error


def named(kind: str, entry: Config) -> str:
    name = next((entry[key] for key in ("name", "text", "title", "metric") if key in entry), "")
    return f"[[{kind}]]{f' {name!r}' if name else ''}"


def check_keys(what: str, entry: Config, kind: Kind) -> None:
    """The keys of a table, and what they are. what: the table for the message; "": the file itself."""
    for key, value in entry.items():
        of_key = kind.keys.get(key, kind.others)
        if of_key is None:
            raise unknown(f"{what} has the unknown key" if what else "unknown key", key, kind.keys)
        if not of_key.fits(value):
            raise Mistake(f"{what}{': ' if what else ''}'{key}' has to be {of_key.words.format(key=key)}")
        if isinstance(value, dict):
            check_keys(place(what, key), value, of_key)
        elif of_key.keys:
            for one in value:
                check_keys(named(key, one), one, of_key)
    required(what, entry, kind.needed)


def place(what: str, key: str) -> str:
    """The table of this key in the table `what`."""
    if what.startswith("[["):
        return f"{what}: {key}"
    return f"[{what[1:-1]}.{key}]" if what else f"[{key}]"


def check_sizes(config: Config) -> None:
    for key in ("size", "run"):
        if not config.get(key):
            raise Mistake(f"has no [{'[run]' if key == 'run' else 'size.…'}]")
    for kind in ("claim", "published", "repeats"):
        for entry in config.get(kind, []):
            known_only(f"{named(kind, entry)} has the unknown size", entry.get("sizes", []), tuple(config["size"]))


def known_only(what: str, keys: Collection[str], known: tuple[str, ...]) -> None:
    for key in keys:
        if key not in known:
            raise unknown(what, key, known)


def required(what: str, entry: Config, keys: Collection[str]) -> None:
    for key in keys:
        if key not in entry:
            raise Mistake(f"{what} lacks '{key}'")


def check_patterns(what: str, key: str, patterns: list[str], names: list[str]) -> None:
    for pattern in patterns:
        if not any(any_of([pattern], name) for name in names):
            kind = {"data": "data set", "sizes": "size"}.get(key, "run")
            raise Mistake(f"{what}: '{pattern}' in {key} matches no {kind}; "
                          f"known: {listed(names)}")


def check_runs(config: Config, size: str) -> list[Run]:
    """The runs of the size."""
    chosen = config["size"][size]
    runs = all_runs(config, size)
    for name, count in Counter(run.name for run in runs).items():
        if count > 1:
            raise Mistake(f"{count} runs have the name '{name}', but each needs its own folder")
    names = [run.name for run in runs]
    for run in runs:
        if run.baseline and run.baseline not in names:
            raise unknown(f"run '{run.name}' has the unknown baseline", run.baseline, names)
    check_patterns(f"[size.{size}]", "runs", chosen.get("runs", []), names)
    check_patterns(f"[size.{size}]", "data", chosen.get("data", []), [data["name"] for data in config.get("data", [])])
    return [run for run in runs if any_of(chosen.get("runs", ["*"]), run.name)]


def check_lone_runs(config: Config, every: dict[str, Run]) -> None:
    for size in config["size"]:
        for run in all_runs(config, size):
            if run.name not in every:
                raise Mistake(f"the run '{run.name}' belongs to no size")


def check_options(config: Config, runs: list[Run]) -> None:
    """No run sets what comes from elsewhere: one of the two would have no effect."""
    refused = NOT_OF_RUNS.keys() - {option for option, section in (("data", "data"), ("init", "initial")) if section not in config}
    places = [(f"the run '{run.name}'", run.options, refused) for run in runs]
    places += [(named("data", data), data.get("options", {}), refused) for data in config.get("data", [])]
    places += [("[initial]", config.get("initial", {}), refused - {"init"}), ("[tune]", [config.get("tune", {}).get("option")], refused)]
    places += [(f"[{command}]", config.get(command, {}), {"result"}) for command in AFTER]
    for what, options, not_here in places:
        for option in options:
            if option in not_here:
                raise Mistake(f"{what} sets '{option}', {NOT_OF_RUNS[option]}")


def check_data(config: Config) -> None:
    names: list[str] = []
    for data in config.get("data", []):
        if "instead_of" in data and data["instead_of"] not in names:
            raise unknown(f"{named('data', data)} has instead_of for the unknown data set", data["instead_of"], names)
        names.append(data["name"])
    for data in config.get("data", []):
        if "tuned_on" in data:
            if data["tuned_on"] not in names:
                raise unknown(f"{named('data', data)} is tuned on the unknown data set", data["tuned_on"], names)
            if "tune" not in config:
                raise Mistake(f"{named('data', data)} has tuned_on, but there is no [tune]")
        if "tune" in data:
            check_data_tune(named("data", data), data, config)
        if "at" in data and not any("along" in table for table in config.get("table", [])):
            raise Mistake(f"{named('data', data)} has 'at', but no [[table]] has 'along'")


def check_data_tune(what: str, data: Config, config: Config) -> None:
    if "tune" not in config:
        raise Mistake(f"{what} has 'tune', but there is no [tune]")
    tune = config["tune"]
    if "tuned_on" in data:
        raise Mistake(f"{what} has 'tune', but is tuned on another data set")
    if "keep" in data["tune"] and not (tune | data["tune"]).get("rungs"):
        raise Mistake(f"{what}: tune has 'keep', which only works with 'rungs'")
    known_only(f"{what}: tune.grid has the unknown key", data["tune"].get("grid", {}), tuple(tune["grid"]))


def check_tuning(config: Config, runs: list[Run]) -> None:
    """Every list of values must serve a run that does not set the option itself, and every such run needs a list."""
    if "tune" not in config:
        return
    tune = config["tune"]
    tuned = [run for run in runs if tune["option"] not in run.options]
    if not tuned:
        raise Mistake(f"[tune] tunes nothing: every run sets {tune['option']} itself")
    known_only("[tune] has the unknown measure", [tune["measure"]], MEASURES)
    if not tune.get("rungs", [1]):
        raise Mistake("[tune] has no epoch in 'rungs'")
    if "keep" in tune and "rungs" not in tune:
        raise Mistake("[tune] has 'keep', which only works with 'rungs'")
    used = {tuned_by(tune["grid"], run.name) for run in tuned}
    for prefix in tune["grid"]:
        if prefix not in used:
            raise Mistake(f"[tune.grid] has values for '{prefix}' without effect: "
                          "no tuned run has that prefix, or an earlier entry covers it")
    for run in tuned:
        if tuned_by(tune["grid"], run.name) is None:
            raise Mistake(f"[tune.grid] has no values for the run '{run.name}'")


def check_stated(what: str, entry: Config) -> None:
    if entry["stated"] not in STATED:
        raise unknown(f"{what} has the unknown value of stated", entry["stated"], STATED)


def check_mark(mark: Config, config: Config, runs: dict[str, list[Run]]) -> None:
    """runs: by size."""
    if not mark["why"].strip():
        raise Mistake("[[stale]] has an empty 'why', but it has to say in a sentence why earlier records are wrong")
    what = f"[[stale]] '{mark['why']}'"
    if config["stale"].count(mark) > 1:
        raise Mistake(f"{what} is there twice; to mark later records, too, give another reason")
    check_patterns(what, "sizes", mark.get("sizes", []), list(config["size"]))
    sizes = [size for size in config["size"] if any_of(mark.get("sizes", ["*"]), size)]
    check_patterns(what, "runs", mark.get("runs", []), [run.name for size in sizes for run in runs[size]])
    data = [data["name"] for data in config.get("data", []) for size in sizes if any_of(config["size"][size].get("data", ["*"]), data["name"])]
    check_patterns(what, "data", mark.get("data", []), data)


def check_repeats(entry: Config, sizes: Config) -> None:
    what = named("repeats", entry)
    if "deviations" not in entry:
        return
    if "absolute" in entry or "relative" in entry:
        raise Mistake(f"{what} has 'deviations' and another tolerance, of which it can have one")
    for name in entry.get("sizes", sizes):
        if len(sizes[name].get("seeds", [1])) < 2:
            raise Mistake(f"{what} has 'deviations', but a single seed of size {name} has none: limit it with 'sizes'")


def check_published(entry: Config) -> None:
    """Of those with a bound it is known when it was set."""
    what = named("published", entry)
    if is_judged(entry):
        required(what, entry, ("stated",))
        check_stated(what, entry)
    elif "stated" in entry:
        raise Mistake(f"{what} has 'stated', but no bound ({listed(BOUNDS)})")


def check_claim(claim: Config, config: Config, runs: dict[str, list[Run]]) -> None:
    """runs: by size."""
    what, each = named("claim", claim), claim.get("each", {})
    if claim["op"] not in OPERATORS:
        raise Mistake(f"{what} has the unknown op '{claim['op']}'; known: {', '.join(OPERATORS)}")
    check_patterns(what, "data", claim.get("data", []), [data["name"] for data in config.get("data", [])])
    if len({len(values) for values in each.values()}) > 1:
        raise Mistake(f"{what}: the lists of each differ in length")
    for key in each:
        if not any("{" + key + "}" in str(claim[side]) for side in ("left", "right")):
            raise Mistake(f"{what}: each has '{key}', but neither left nor right uses {{{key}}}")
    try:
        claims = spelled_out(claim)
    except KeyError as error:
        raise Mistake(f"{what} uses {{{error.args[0]}}}, but each has no such list") from error
    for name in claim.get("sizes", config["size"]):
        here = [run.name for run in runs[name]]
        for term in (term for one in claims for term in checked_terms(one)):
            if term.form:
                check_patterns(f"{what}, size {name}", term.form, [term.runs], here)
            elif term.runs not in here:
                raise unknown(f"{what} refers to a run that size {name} does not have,", term.runs, here)


def checked_terms(claim: Config) -> Iterator[Term]:
    """The sides of a claim that are not numbers."""
    sides = [side for side in (claim["left"], claim["right"]) if isinstance(side, str)]
    if not sides:
        raise Mistake(f"{named('claim', claim)} compares two numbers; one side must be run.metric")
    for side in sides:
        if (term := read_term(side)) is None:
            raise Mistake(f"{named('claim', claim)}: '{side}' is neither a number nor run.metric, least(pattern).metric or rank(pattern, other).metric")
        yield term


def check_table(table: Config, runs: list[Run]) -> None:
    kinds = [key for key in ("rows", "columns", "against", "costs", "curves", "map") if key in table]
    if len(kinds) > 1 and kinds != ["rows", "columns"]:
        raise Mistake(f"{named('table', table)} has {' and '.join(map(repr, kinds))}, of which a table can have one")
    if "against" in table:
        check_against(table, runs)
    if "map" in table or "places" in table:
        check_map(table)
    if "costs" in table:
        required(named("table", table), table, ("title",))
        for metric in table["costs"]:
            if is_relative(metric):
                raise Mistake(f"{named('table', table)}: costs has '{metric}', which is relative to a baseline")
    if "columns" in table and isinstance(table["columns"], str) != ("rows" in table):
        raise Mistake(f"{named('table', table)}: 'columns' has to be " + ("an option, as 'rows' is" if "rows" in table else "a list of metrics"))
    if "rows" not in table:
        for key in ("value", "least"):
            if key in table:
                raise Mistake(f"{named('table', table)} has '{key}', which only a table with rows may have")
        return
    required(named("table", table), table, ("title", "columns", "value"))
    for key in ("rows", "columns", "least"):
        for run in runs:
            if key in table and any_of(table.get("runs", ["*"]), run.name) and table[key] not in run.options:
                raise Mistake(f"{named('table', table)}: {key} is '{table[key]}', an option that the run '{run.name}' does not set")


def check_map(table: Config) -> None:
    required(named("table", table), table, ("title", "map", "places"))
    axes = table["places"]
    if len(axes) != 2 or not all("{" + axis + "}" in table["map"] for axis in axes):
        raise Mistake(f"{named('table', table)}: places has two lists, and map their names in braces")
    try:
        filled(table["map"], {axis: names[0] for axis, names in axes.items()})
    except KeyError as error:
        raise Mistake(f"{named('table', table)}: map uses {{{error.args[0]}}}, but places has no such list") from None


def check_along(table: Config, data: list[Config]) -> None:
    if "along" in table:
        required(named("table", table), table, ("title", "against"))
        if sum("at" in entry for entry in data) < 2:
            raise Mistake(f"{named('table', table)} has 'along', but fewer than two [[data]] have 'at'")


def check_against(table: Config, runs: list[Run]) -> None:
    names = {run.name for run in runs}
    for run in runs:
        if any_of(table.get("runs", ["*"]), run.name):
            try:
                other = filled(table["against"], run.options)
            except KeyError as error:
                raise Mistake(f"{named('table', table)}: against has {{{error.args[0]}}}, an option that the run '{run.name}' does not set") from None
            if other not in names:
                raise Mistake(f"{named('table', table)}: there is no run '{other}' for '{run.name}' to be compared with")
