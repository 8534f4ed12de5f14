"""Small pieces of HTML."""

from __future__ import annotations

import html
import re
from typing import Iterable

BADGES = {"holds": "✓", "undecided": "?", "FAILS": "✗", "not run": "–", "not evidence": "○", "shown": "·"}


def text(value: object) -> str:
    return html.escape(str(value), quote=True)


def inline(markdown: str) -> str:
    """Renders code, bold and italics; of a link only its text, as the page is self-contained."""
    found = text(re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", markdown))
    found = re.sub(r"`([^`]*)`", r"<code>\1</code>", found)
    found = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", found)
    return re.sub(r"(?<!\w)\*(.+?)\*(?!\w)", r"<em>\1</em>", found)


def kind(status: str) -> str:
    """The status's class in page.css."""
    return status.lower().replace(" ", "-")


def badge(status: str, label: str = "") -> str:
    return f'<span class="badge {kind(status)}"><span aria-hidden="true">{BADGES[status]}</span> {text(label or status)}</span>'


def table(caption: str, columns: Iterable[str], rows: Iterable[Iterable[str]], name: str = "") -> str:
    """Cells are HTML. Clicking a column's head sorts the table; a wide table scrolls horizontally."""
    heads = "".join(f'<th scope="col"><button type="button">{column}</button></th>' for column in columns)
    body = "\n".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    titled = f"<caption>{caption}</caption>" if caption else ""
    return (f'<div class="wide" tabindex="0"><table class="{name}">{titled}\n<thead><tr>{heads}</tr></thead>\n'
            f"<tbody>\n{body}\n</tbody></table></div>")


def folded(summary: str, content: str, is_open: bool = False) -> str:
    return f'<details{" open" if is_open else ""}><summary>{summary}</summary>\n{content}\n</details>'


def count(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"
