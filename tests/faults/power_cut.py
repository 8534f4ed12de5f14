"""What a folder may contain after a power cut, from the journal of an undisturbed command (journal.hpp).

A file system has promised only what was synchronised: the bytes of a file as at its last fsync, the names in a folder as at
the last fsync of that folder. `keep` says what else survives a cut:

  nothing
  names       every name, so that a renamed file may lack its bytes
  some:SEED   random changes. Of the names in a folder, those up to some point in time, as with a journal of metadata; of the
              size of a file likewise; of its bytes, any sectors. Where bytes are missing there are zeros or garbage
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

SECTOR_BYTES = 512

Tree = dict[str, "bytes | None"]  # path below the folder -> content of a file; None: a folder


def read_tree(folder: Path) -> Tree:
    return {str(path.relative_to(folder)): None if path.is_dir() else path.read_bytes() for path in sorted(folder.rglob("*"))}


def write_tree(tree: Tree, folder: Path) -> None:
    for path in sorted(tree):
        content = tree[path]
        (folder / path).mkdir() if content is None else (folder / path).write_bytes(content)


@dataclass(frozen=True)
class Change:
    """An entry of the journal."""

    call: str
    path: str
    number: int = 0       # where it writes; the new size; 1 if it empties the file
    content: bytes = b""  # what it writes


def read_journal(journal: Path, folder: Path) -> list[Change]:
    data, changes = journal.read_bytes(), []
    while data:
        line, data = data.split(b"\n", 1)
        call, path, number, size = line.decode().split("\t")
        changes.append(Change(call, os.path.relpath(path, folder), int(number), data[:int(size)]))
        data = data[int(size):]
    return [Change(change.call, change.path, 0, os.path.relpath(change.content.decode(), folder).encode())
            if change.call == "rename" else change for change in changes]


class File:
    def __init__(self, content: bytes = b"") -> None:
        self.synchronised = content
        self.content = content
        self.pending: list[tuple[int, bytes] | int] = []  # position and bytes of a write, or a new size

    def write(self, position: int, data: bytes) -> None:
        self.pending.append((position, data))
        before = self.content.ljust(position, b"\0")
        self.content = before[:position] + data + before[position + len(data):]

    def resize(self, size: int) -> None:
        self.pending.append(size)
        self.content = self.content[:size].ljust(size, b"\0")

    def synchronise(self) -> None:
        self.synchronised, self.pending = self.content, []

    def after_cut(self, random: Random | None) -> bytes:
        if random is None or not self.pending:
            return self.synchronised
        sizes_kept, chance, garbage = random.randint(0, len(self.pending)), random.random(), random.random() < 0.5
        left = bytearray(self.synchronised)
        for i, change in enumerate(self.pending):
            size = change if isinstance(change, int) else max(len(left), change[0] + len(change[1]))
            if i < sizes_kept:
                del left[size:]
                left += random.randbytes(size - len(left)) if garbage else bytes(size - len(left))
            if not isinstance(change, int):
                for begin, data in sectors(*change):
                    if random.random() < chance:
                        data = data[:max(0, len(left) - begin)]
                        left[begin:begin + len(data)] = data
        return bytes(left)


def sectors(position: int, data: bytes) -> Iterator[tuple[int, bytes]]:
    end = position + len(data)
    while position < end:
        following = min(end, (position // SECTOR_BYTES + 1) * SECTOR_BYTES)
        yield position, data[len(data) - (end - position):len(data) - (end - following)]
        position = following


class Folder:
    def __init__(self) -> None:
        self.synchronised: dict[str, File | Folder] = {}
        self.entries: dict[str, File | Folder] = {}
        self.pending: list[dict[str, File | Folder | None]] = []  # what has become of some names; None: they are removed

    def change(self, names: dict[str, File | Folder | None]) -> None:
        self.pending.append(names)
        self.entries = changed(self.entries, names)

    def synchronise(self) -> None:
        self.synchronised, self.pending = self.entries, []

    def after_cut(self, kept: int) -> dict[str, File | Folder]:
        entries = self.synchronised
        for names in self.pending[:kept]:
            entries = changed(entries, names)
        return entries


def changed(entries: dict[str, File | Folder], names: dict[str, File | Folder | None]) -> dict[str, File | Folder]:
    return {name: node for name, node in {**entries, **names}.items() if node is not None}


class Disk:
    """A folder while a command changes it."""

    def __init__(self, before: Tree) -> None:
        self.root = Folder()
        self.changes = 0
        for path in sorted(before):
            content = before[path]
            self.parent(path).change({os.path.basename(path): Folder() if content is None else File(content)})
        for folder in [self.root, *(self.find(path) for path in before if before[path] is None)]:
            folder.synchronise()

    def find(self, path: str) -> File | Folder | None:
        node: File | Folder | None = self.root
        for name in Path(path).parts:
            node = node.entries.get(name) if isinstance(node, Folder) else None
        return node

    def parent(self, path: str) -> Folder:
        folder = self.find(os.path.dirname(path))
        if not isinstance(folder, Folder):
            raise ValueError(f"the journal has no entry for the creation of the folder of {path}")
        return folder

    def file(self, path: str) -> File:
        file = self.find(path)
        if not isinstance(file, File):
            raise ValueError(f"the journal has no entry for the creation of {path}")
        return file

    def apply(self, change: Change) -> None:
        self.changes += 1
        call, path, name = change.call, change.path, os.path.basename(change.path)
        if call in ("open", "openat", "creat", "fopen"):
            if self.find(path) is None:
                self.parent(path).change({name: File()})
            elif change.number == 1:
                self.file(path).resize(0)
        elif call in ("write", "pwrite", "writev", "copy_file_range"):
            self.file(path).write(change.number, change.content)
        elif call == "ftruncate":
            self.file(path).resize(change.number)
        elif call in ("fsync", "fdatasync"):
            self.find(path).synchronise()
        elif call == "mkdir":
            self.parent(path).change({name: Folder()})
        elif call in ("unlink", "unlinkat", "remove", "rmdir"):
            self.parent(path).change({name: None})
        elif call == "rename":
            before = change.content.decode()
            if os.path.dirname(before) != os.path.dirname(path):
                raise ValueError(f"{before} is renamed to {path}, in another folder, which may happen in two steps")
            self.parent(path).change({os.path.basename(before): None, name: self.find(before)})
        else:
            raise ValueError(f"the journal has an unknown call, {call}")

    def content(self) -> Tree:
        """What running programs see."""
        return tree_of(self.root, lambda folder: folder.entries, lambda file: file.content)

    def after_cut(self, keep: str) -> Tree:
        """keep: as above"""
        random = Random(f"{keep} {self.changes}") if keep.startswith("some:") else None

        def names_kept(folder: Folder) -> int:
            every = len(folder.pending)
            return random.randint(0, every) if random else every if keep == "names" else 0

        return tree_of(self.root, lambda folder: folder.after_cut(names_kept(folder)), lambda file: file.after_cut(random))


def tree_of(folder: Folder, entries_of, content_of) -> Tree:
    tree: Tree = {}
    for name, node in sorted(entries_of(folder).items()):
        if isinstance(node, File):
            tree[name] = content_of(node)
        else:
            tree[name] = None
            tree.update({f"{name}/{path}": content for path, content in tree_of(node, entries_of, content_of).items()})
    return tree


class Recording:
    """What an undisturbed command did in a folder. A cut is named by the number of changes before it and by what survives:
    cut=17 keep=some:3. It has the same effect in every recording with the same changes; those of MPI ranks differ in order."""

    def __init__(self, before: Tree, changes: list[Change], after: Tree) -> None:
        """Raises ValueError if the journal does not lead from `before` to `after`: then the library does not know a call that
        the command makes."""
        self.before, self.changes, self.after = before, changes, after
        disk = self.disk(len(changes))
        found = disk.content()
        if unlike := [path for path in sorted(found.keys() | after.keys()) if found.get(path, 0) != after.get(path, 0)]:
            raise ValueError(f"the journal does not explain the content of {', '.join(unlike)}")

    @property
    def end(self) -> str:
        """The cut after the command has ended of which nothing survives that was not synchronised."""
        return f"cut={len(self.changes)} keep=nothing"

    def disk(self, changes: int) -> Disk:
        disk = Disk(self.before)
        for change in self.changes[:changes]:
            disk.apply(change)
        return disk

    def cuts(self, seeds: int) -> list[str]:
        """One cut for each content that the folder may have, and one for each that it may have when the command has ended."""
        found: dict[tuple[bool, int], str] = {}
        disk = Disk(self.before)
        for number in range(len(self.changes) + 1):
            if number > 0:
                disk.apply(self.changes[number - 1])
            for keep in ("nothing", "names", *(f"some:{seed}" for seed in range(seeds))):
                content = hash(tuple(disk.after_cut(keep).items()))
                found.setdefault((number == len(self.changes), content), f"cut={number} keep={keep}")
        return list(found.values())

    def after_cut(self, cut: str) -> Tree:
        return self.disk(self.number(cut)).after_cut(cut.split("keep=")[1])

    def lost(self, cut: str) -> list[str]:
        """What a cut after the end of the command has damaged of its results."""
        if self.number(cut) < len(self.changes):
            return []
        left = self.after_cut(cut)
        return [path for path, content in self.after.items() if left.get(path, 0) != content]

    def place(self, cut: str) -> str:
        number = self.number(cut)
        if number == len(self.changes):
            return "at the end"
        return f"before {self.changes[number].call} of {os.path.basename(self.changes[number].path)}"

    @staticmethod
    def number(cut: str) -> int:
        return int(re.search(r"\bcut=(\d+)", cut)[1])
