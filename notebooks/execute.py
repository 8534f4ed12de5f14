#!/usr/bin/env python3
"""Executes notebooks and stores them with what their cells show, and with the SHA-256 of their code: `make notebooks`.

Without names, all of this folder. Needs nbclient and ipykernel, and the package paragrad for the notebooks themselves.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import io
import os
import re
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent


def code_sha256(cells: list[dict]) -> str:
    """Of the code that the outputs come from."""
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    return hashlib.sha256("\0".join(code).encode()).hexdigest()


def execute(path: Path, folder: Path) -> str:
    """The text of the executed notebook. `folder`: for the kernel's sockets, as ports others might take the same."""
    import nbformat
    from nbclient import NotebookClient
    from traitlets.config import Config
    notebook = nbformat.read(path, as_version=4)
    about = dict(notebook.metadata)
    sockets = Config(KernelManager={"transport": "ipc", "ip": str(folder / path.stem)})
    NotebookClient(notebook, config=sockets, kernel_name="python3", timeout=120, record_timing=False,
                   extra_arguments=["--InlineBackend.figure_formats=retina"], resources={"metadata": {"path": str(path.parent)}}).execute()
    notebook.metadata = nbformat.from_dict(about | {"code_sha256": code_sha256(notebook.cells)})  # without the kernel's version
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = lasting(cell.outputs)
            check(path, cell)
    return nbformat.writes(notebook) + "\n"


def lasting(outputs: list[dict]) -> list[dict]:
    """What a cell still shows in the end, without lines of progress; each stream in one output."""
    found: list[dict] = []
    streams: dict[str, dict] = {}
    for output in outputs:
        if output["output_type"] != "stream":
            found.append(output)
        elif before := streams.get(output["name"]):
            before["text"] += output["text"]
        else:
            streams[output["name"]] = output
            found.append(output)
    for stream in streams.values():
        stream["text"] = re.sub(r"[^\n]*\r", "", stream["text"])
    for output in found:
        if "image/png" in output.get("data", {}):
            output["data"]["image/png"] = small(output["data"]["image/png"])
    return [output for output in found if output.get("text") != ""]


def small(png: str) -> str:
    """The picture in 64 colours, which take a third of the space."""
    from PIL import Image
    file = io.BytesIO()
    Image.open(io.BytesIO(base64.b64decode(png))).convert("RGB").quantize(64).save(file, "png", optimize=True)
    return base64.b64encode(file.getvalue()).decode()


def check(path: Path, cell: dict) -> None:
    """Nothing that only this machine has."""
    for output in cell.outputs:
        text = str({kind: value for kind, value in output.get("data", output).items() if not kind.startswith("image/")})
        if output.get("name") == "stderr":
            raise SystemExit(f"{path}: cell {cell.id} writes to stderr: {output['text']}")
        for place in (HERE.parent, Path.home(), Path(tempfile.gettempdir())):
            if str(place) in text:
                raise SystemExit(f"{path}: cell {cell.id} shows a path of this machine, {place}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("notebooks", nargs="*", type=Path, default=sorted(HERE.glob("*.ipynb")))
    parser.add_argument("--out", type=Path, help="folder to write to instead")
    arguments = parser.parse_args()
    from nbclient.exceptions import CellExecutionError
    with tempfile.TemporaryDirectory(prefix="paragrad-") as folder:
        os.environ |= {"IPYTHONDIR": f"{folder}/ipython", "JUPYTER_CONFIG_DIR": f"{folder}/jupyter",  # not the user's
                       "PYDEVD_DISABLE_FILE_VALIDATION": "1"}  # no warning about Python's own modules
        for path in arguments.notebooks:
            try:
                text = execute(path, Path(folder))
            except CellExecutionError as error:
                print(f"{path}: {error}", file=sys.stderr)
                return 1
            (arguments.out / path.name if arguments.out else path).write_text(text)
            print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
