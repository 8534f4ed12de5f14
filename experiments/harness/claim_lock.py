"""claims.lock: the claims and bounds of an experiment, committed before the runs that judge them, and its [[stale]], which are only ever
added. It holds a copy rather than a hash, so that a change can be named and the history shows every bound."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from config import (BOUNDS, EXPERIMENTS, RESTORE, ROOT, UserError, any_of, applies, git, is_judged, parse_json, read_json, read_toml,
                    runs_of_size, spelled_out)
from grammar import named
from published import read_table
from records import Record
from terms import terms_of

Entry = dict[str, Any]

BINDING = ("stated", "left", "op", "right", "margin", "column", "metric", "scale", "rows", *BOUNDS, "file", "key",
           "sizes", "data", "each", "seeds", "among")  # what a claim says; its text may be reworded


def lock_file(name: str) -> Path:
    return EXPERIMENTS / name / "claims.lock"


def config_file(name: str) -> str:
    return f"experiments/{name}/config.toml"


def stated_claims(name: str) -> list[Entry]:
    """Each [[claim]] and each [[published]] with a bound; `seeds` are those of the sizes that it is about."""
    config = read_toml(EXPERIMENTS / name / "config.toml")
    found = []
    for kind in ("claim", "published"):
        for entry in config.get(kind, []):
            if kind == "claim" or is_judged(entry):
                seeds = {size: of_size.get("seeds", [1]) for size, of_size in config["size"].items() if applies(entry, size)}
                whole = entry | {"seeds": seeds} | ({"among": among} if kind == "claim" and (among := chosen_from(config, entry, list(seeds))) else {})
                found.append({"kind": kind, "text": entry["text"]} | {key: value for key, value in whole.items() if key in BINDING})
    return found


def chosen_from(config: dict[str, Any], claim: Entry, sizes: list[str]) -> dict[str, list[str]]:
    """The runs that each side with a pattern is about, by size and side; {} if no side has one."""
    terms = {term.text: term for one in spelled_out(claim) for term in terms_of(one) if term.form}
    return {f"{size}, {text}": term.among(run.name for run in runs_of_size(config, size)) for size in sizes for text, term in terms.items()}


def marks(name: str) -> list[Entry]:
    """Each [[stale]]."""
    return [{"kind": "stale"} | mark for mark in read_toml(EXPERIMENTS / name / "config.toml").get("stale", [])]


def locked_entries(name: str) -> list[Entry]:
    file = lock_file(name)
    return read_json(file, RESTORE) if file.exists() else []


def marks_in(entries: list[Entry]) -> list[Entry]:
    return [entry for entry in entries if entry["kind"] == "stale"]


def claims_in(entries: list[Entry]) -> list[Entry]:
    return [entry for entry in entries if entry["kind"] != "stale"]


def check_marks(name: str, locked: list[Entry]) -> None:
    """Without its mark, an earlier record would count again."""
    stated = marks(name)
    for place, mark in enumerate(marks_in(locked)):
        if stated[place:place + 1] != [mark]:
            raise UserError(f"{config_file(name)}: [[stale]] '{mark['why']}' has been removed, changed or moved, but is in claims.lock; put it back: "
                            "marks are only added, below the others")


def unlocked_marks(name: str) -> list[str]:
    """The reasons of those that are not in claims.lock yet."""
    return [mark["why"] for mark in marks(name)[len(marks_in(locked_entries(name))):]]


def committed_lock(name: str) -> bytes | None:
    """The last committed claims.lock; None if there is none, or no Git repository."""
    return git(lock_file(name).parent, "show", f"HEAD:./{lock_file(name).name}")


def binding(entry: Entry) -> Entry:
    return {key: entry[key] for key in BINDING if key in entry}


def missing_from(entries: list[Entry], others: list[Entry]) -> list[Entry]:
    """Those of `entries` that `others` lacks."""
    there = [binding(other) for other in others]
    return [entry for entry in entries if binding(entry) not in there]


def is_known(name: str, entry: Entry) -> bool:
    """Whether results that judge the entry are recorded in expected.json, or are in run folders here, in one of its sizes."""
    folder = EXPERIMENTS / name
    expected = Record(folder / "expected.json").read()
    known: list[set[str]] = []
    for size in entry["seeds"]:
        for data, runs in expected.get(size, {}).items():
            if data in entry.get("data", [data]):
                known.append(set(runs))
        for data in (folder / "runs" / size).glob("*"):
            if data.name in entry.get("data", [data.name]):
                known.append({path.parent.name.rpartition("-s")[0] for path in data.glob("*/manifest.json")})
    if entry["kind"] == "published":
        _, rows = read_table(folder / entry.get("file", "published.csv"))
        published = {row[entry.get("key", "run")] for row in rows if any_of(entry.get("rows", ["*"]), row[entry.get("key", "run")])}
        return any(published & runs for runs in known)
    return any(judges(claim, runs) for claim in spelled_out(entry) for runs in known)


def judges(claim: dict[str, Any], runs: set[str]) -> bool:
    """Whether the runs have a run of each of the claim's sides."""
    return all(not runs.isdisjoint(term.among(runs)) for term in terms_of(claim))


def shown(value: Any) -> str:
    return "none" if value is None else json.dumps(value, ensure_ascii=False)


def describe_change(before: Entry, after: Entry) -> str:
    key = next(key for key in BINDING if before.get(key) != after.get(key))
    return f"{key} is {shown(after.get(key))} and was {shown(before.get(key))}"


def difference(name: str) -> str:
    """What is not the same in config.toml and claims.lock, as part of a sentence; "" if nothing."""
    stated, locked = stated_claims(name), claims_in(locked_entries(name))
    added, removed = missing_from(stated, locked), missing_from(locked, stated)
    for entry in added:
        twin = next((other for other in removed if other["text"] == entry["text"]), None)
        what = describe_change(twin, entry) if twin else "it is not in claims.lock"
        return f"{config_file(name)}: {named(entry['kind'], entry)}: {what}"
    return f"{config_file(name)} lacks {named(removed[0]['kind'], removed[0])}, which is in claims.lock" if removed else ""


def check_lock(name: str) -> None:
    check_marks(name, locked_entries(name))
    if found := difference(name):
        raise UserError(f"{found}; undo the change, or accept it with make lock-{name}, which refuses changes to judged claims")


def check_committed(name: str, quiet: bool = False) -> None:
    """Claims come before runs: what is about to be recorded has to be judged by claims that are already in the history."""
    check_lock(name)
    file = lock_file(name)
    if not file.exists():
        return
    if git(file.parent, "rev-parse", "--is-inside-work-tree") is None:
        if not quiet:
            print(f"not in a Git repository: whether {file.relative_to(ROOT)} was committed before these runs cannot be checked")
    elif committed_lock(name) != file.read_bytes():
        raise UserError(f"{file.relative_to(ROOT)} is not committed: claims come before the runs that judge them, so commit it first")


def with_more_seeds(entry: Entry, others: list[Entry]) -> bool:
    """Whether one of `others` is the same claim about these seeds and more, or about further sizes."""
    return any(binding(other | {"seeds": entry["seeds"]}) == binding(entry)
               and all(set(other["seeds"].get(size, [])) >= set(seeds) for size, seeds in entry["seeds"].items()) for other in others)


def lock(name: str) -> None:
    """Writes claims.lock. A claim whose results are known can neither be removed nor changed, except that it may be judged by more
    seeds or in more sizes; and a new claim about them was not stated before them."""
    what = f"the committed {lock_file(name).relative_to(ROOT)}"
    before = [locked_entries(name), parse_json(committed_lock(name) or b"[]", what, RESTORE)]  # should claims.lock have been edited or removed
    for entries in before:
        check_marks(name, entries)
    stated, locked, committed = stated_claims(name), *map(claims_in, before)
    for entry in missing_from(locked + committed, stated):
        if is_known(name, entry) and not with_more_seeds(entry, stated):
            raise UserError(f"{config_file(name)}: {named(entry['kind'], entry)} has been judged and must stay as it is in claims.lock; "
                            "add a changed bound as a claim of its own, with stated = \"after\" or \"reversed\"")
    for entry in missing_from(stated, locked + committed):
        if (entry["stated"] == "before" and is_known(name, entry)
                and not any(with_more_seeds(other, [entry]) for other in locked + committed)):
            raise UserError(f"{config_file(name)}: {named(entry['kind'], entry)}: results of its runs are known, so it was not stated "
                            "before them; set stated = \"after\"")
    write(name, stated + marks(name))
    and_marks = f" and {len(marks(name))} [[stale]]" if marks(name) else ""
    print(f"wrote {len(stated)} claims{and_marks} to {lock_file(name).relative_to(ROOT)}: commit it before the runs")


def write(name: str, entries: list[Entry]) -> None:
    lines = ",\n".join(" " + json.dumps(entry, ensure_ascii=False) for entry in entries)
    lock_file(name).write_text(f"[\n{lines}\n]\n" if entries else "[]\n")
