#!/usr/bin/env python3
"""Makes the pages of the repository a site with a search, BUILD/site: `make docs`. Every link between pages, to a heading or to a file is checked.

Usage: docs.py BUILD, with MkDocs on the path. The pages stay what they are on a code host: they are copied with the files that they link to.
What is there is taken along: report/ (`make report`), BUILD/api (`make api`), the notebooks.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SHAPE = re.compile(r"(`[^`]*`)|\](?=\[)")  # of [samples][classes], which would be a link outside code
LINK = re.compile(r"(!?\[[^\]]*\]\()([^)\s#]*)(#[^)\s]*)?\)")
SECTIONS = {"Training": "src/train/README.md", "Models": "src/nn/README.md", "Data": "data/README.md", "Strategies": "src/strategies/README.md",
            "Simulation": "sim/README.md", "Python": "src/python/README.md", "Experiments": "experiments/README.md", "Clusters": "experiments/cluster/README.md",
            "Developers": "src/README.md"}
CONFIG = """site_name: Paragrad
docs_dir: {pages}
site_dir: {site}
theme:
  name: material
  font: false
  palette:
    - media: "(prefers-color-scheme: light)"
      toggle: {{icon: material/weather-night, name: dark}}
    - media: "(prefers-color-scheme: dark)"
      scheme: slate
      toggle: {{icon: material/weather-sunny, name: light}}
  features: [navigation.tabs, navigation.indexes, navigation.top, toc.follow, content.code.copy, search.suggest, search.highlight]
plugins:
  - search
  - mkdocstrings: {{handlers: {{python: {{paths: [{python}], options: {{show_source: false, filters: ["!^_"], show_root_heading: true, members_order: source}}}}}}}}
markdown_extensions: [tables, fenced_code, attr_list, sane_lists, {{toc: {{permalink: true}}}}, pymdownx.highlight, pymdownx.superfences]
validation: {{links: {{not_found: warn, anchors: warn, absolute_links: warn, unrecognized_links: warn}}, nav: {{omitted_files: ignore}}}}
nav: {nav}
"""


def title_of(page: Path) -> str:
    return next(line.lstrip("# ") for line in page.read_text().splitlines() if line.startswith("# "))


def pages_of_repository() -> list[str]:
    folders = [ROOT / name for name in ("data", "experiments", "notebooks", "sim", "src", "tests")]
    found = [*ROOT.glob("*.md"), *(page for folder in folders for page in folder.rglob("*.md") if "runs" not in page.parts)]
    return sorted(str(page.relative_to(ROOT)) for page in found)


def is_hidden(path: Path) -> bool:
    """MkDocs leaves such files out."""
    return any(part.startswith(".") for part in path.relative_to(ROOT).parts)


def markdown_of(text: str, page: Path, pages: Path) -> str:
    """A page's text for the site. Copies the files that it links to; a link to a folder leads to its page, and is left out where it has none."""
    def target(found: re.Match) -> str:
        before, path, heading = found[1], found[2], found[3] or ""
        if not path or "://" in path or path.startswith("mailto:"):
            return found[0]
        there = (page.parent / path).resolve()
        if is_hidden(there) or (there.is_dir() and not (there / "README.md").is_file()):
            return before.lstrip("![").removesuffix("](")
        if there.is_dir():
            path, there = f"{path.rstrip('/')}/README.md", there / "README.md"
        if there.is_file() and there.suffix != ".md":
            place = pages / there.relative_to(ROOT)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(there, place)
        return f"{before}{path}{heading})"

    parts = re.split(r"(^```.*?^```)", text, flags=re.MULTILINE | re.DOTALL)  # code is left as it is
    return "".join(part if part.startswith("```") else SHAPE.sub(lambda found: found[1] or "]\\", LINK.sub(target, part)) for part in parts)


def copy_page(page: Path, pages: Path) -> None:
    place = pages / page.relative_to(ROOT)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(markdown_of(page.read_text(), page, pages))


def package(folder: Path) -> Path:
    """The Python package, its docstrings written so that they are Markdown."""
    for module in (ROOT / "src/python/paragrad").glob("*.py"):
        place = folder / "paragrad" / module.name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(re.sub(r'""".*?"""', lambda found: found[0].replace("][", "]&#91;"), module.read_text(), flags=re.DOTALL))
    return folder


def taken_along(pages: Path, build: Path) -> dict[str, str]:
    """What other targets have made, as pages of the site."""
    found = {}
    for title, made, place in (("Report", ROOT / "report", "report"), ("C++ reference", build / "api/html", "api")):
        if (made / "index.html").is_file():
            shutil.copytree(made, pages / place, dirs_exist_ok=True)
            found[title] = f"{place}/index.html"
    for notebook in sorted((ROOT / "notebooks").glob("*.ipynb")):
        title = "".join(json.loads(notebook.read_text())["cells"][0]["source"]).splitlines()[0].lstrip("# ")
        place = pages / "notebooks" / f"{notebook.stem}.html"
        if subprocess.run([ROOT / "src/setup/python.sh", "nbconvert", "--", "-m", "nbconvert", "--to", "html", "--log-level", "ERROR", "--output-dir",
                           place.parent, notebook]).returncode == 0:
            found[title] = f"notebooks/{notebook.stem}.html"
    return found


def main(build: Path) -> int:
    pages, site = build / "site-pages", build / "site"
    shutil.rmtree(pages, ignore_errors=True)
    listed = pages_of_repository()
    for name in listed:
        copy_page(ROOT / name, pages)
    nav: list = [{"Paragrad": "README.md"}]
    for name, page in SECTIONS.items():
        inside = [other for other in listed if other.startswith(f"{Path(page).parent}/") and other != page and other not in SECTIONS.values()]
        nav.append({name: [page, *({title_of(ROOT / other): other} for other in inside)] if name != "Developers" else
                    [page, {"Contributing": "CONTRIBUTING.md"}, {"Tests": "tests/README.md"}, {"Changelog": "CHANGELOG.md"}]})
    for title, place in taken_along(pages, build).items():
        section = "Developers" if place.startswith("api") else "Experiments" if place.startswith("report") else "Python"
        next(entry for entry in nav if section in entry)[section].append({title: place})
    reference = pages / "python.md"
    reference.write_text("# Python: reference\n\n::: paragrad\n")
    next(entry for entry in nav if "Python" in entry)["Python"].append({"Reference": "python.md"})
    (build / "mkdocs.yml").write_text(CONFIG.format(pages=json.dumps(str(pages)), site=json.dumps(str(site)), python=json.dumps(str(package(build / "site-package"))),
                                                    nav=json.dumps(nav)))
    return subprocess.run([sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", build / "mkdocs.yml"]).returncode


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
