"""Temporary folders: of runs without `out`, and of the data files that are made from arrays."""

from __future__ import annotations

import atexit
import tempfile
from pathlib import Path

from . import _core
from .runs import TEMPORARY

atexit.register(_core.remove_temporary_folders)


class TemporaryFolder:
    """A folder that is deleted with this object, or when the process ends that has made it."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=TEMPORARY))
        self._folder = _core.TemporaryFolder(str(self.path))
