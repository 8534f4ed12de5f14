import os
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

import paragrad as pg  # noqa: E402


@pytest.fixture(scope="session")
def task(tmp_path_factory) -> dict:
    """A small task, and the options of a training on it."""
    data = tmp_path_factory.mktemp("data") / "task.h5"
    pg.command("data", "generate", out=data, samples=1200, valid=120, test=120, dim=20, classes=5)
    return {"data": data, "model": "20-32-5:relu", "learning_rate": 0.1, "epochs": 2, "blocks": 3}


@pytest.fixture
def four(task) -> dict:
    """The same with four emulated workers."""
    return task | {"workers": 4, "platform": "k40m-fdr", "strategy": "model_averaging"}


@pytest.fixture(scope="session")
def mpiexec() -> str:
    found = os.environ.get("PARAGRAD_MPIEXEC")
    if not found:
        pytest.skip("no mpiexec (PARAGRAD_MPIEXEC)")
    return found
