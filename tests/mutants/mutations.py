"""Subtle faults that a tool can put into a line of C++: what make mutants draws from.

A mutation takes a line whose comments and strings are blanked (blanked() keeps the columns) and yields the lines that could replace it.
The kinds and their shares: what a reader of a change would overlook, not what a compiler would refuse.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

SHARES = {"dropped statement": 4, "dropped state": 2, "ignored option": 2, "swapped arguments": 2,  # of twenty
          "operator": 4, "constant": 3, "condition": 3}

NOT_CODE = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)+\'|//.*|/\*.*?\*/')
STATEMENT = re.compile(r"(\s*)(?:(?:\+\+|--)?\*?[A-Za-z_][\w.:\[\]]*(?:->[\w.:\[\]]+|\(\)\.\w+)*\s?(?:\(|[-+*/%|&^]?= |\+\+|--).*;|if \(.*\) (?:return|break|continue)\b.*;)\s*$")
NO_STATEMENT = re.compile(r".*\) = (?:delete|default);|\s*(?:return|throw|using|typedef|namespace|struct|class|enum|template|static|static_assert|const|constexpr|auto|"
                          r"public|private|protected|friend|virtual|case|default|goto|extern|explicit|delete|else|for|while|do|switch|operator)\b")
STATE = re.compile(r"(\s*)(?:state\.add\(.*\);|(?:[\w.\[\]]+(?:->|\.|::))?describe_state\(\w+.*\);)\s*$")
OPTION = re.compile(r'(\blist\.(?:number|numbers|text|flag|choice|words|quantity)\(\s*"\s*",\s*)([A-Za-z_][\w.]*)(?=[,)])')
OPERATORS = {"<": ("<=",), "<=": ("<",), ">": (">=",), ">=": (">",), "==": ("!=",), "!=": ("==",), "+": ("-",), "-": ("+",), "*": ("/",), "/": ("*",),
             "&&": ("||",), "||": ("&&",), "+=": ("-=",), "-=": ("+=",), "*=": ("/=",), "/=": ("*=",), "%": ("/",)}
OPERATOR = re.compile(r"(?<= )(?:" + "|".join(re.escape(word) for word in sorted(OPERATORS, key=len, reverse=True)) + r")(?= )")
NUMBER = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?(?:e-?\d+)?)([fuUlLz]*)(?![\w.])")
WORDS = {"true": "false", "false": "true", "std::min": "std::max", "std::max": "std::min"}
WORD = re.compile(r"\b(?:" + "|".join(WORDS) + r")\b")


def blanked(line: str) -> str:
    """Without what is in comments and strings, whose quotes stay."""
    def blank(found: re.Match) -> str:
        text = found[0]
        return text[0] + " " * (len(text) - 2) + text[-1] if text[0] in "\"'" else " " * len(text)
    return NOT_CODE.sub(blank, line)


def balanced(text: str) -> bool:
    return all(text.count(left) == text.count(right) for left, right in ("()", "[]", "{}"))


def dropped_statement(code: str) -> Iterator[str]:
    if (found := STATEMENT.match(code)) and balanced(code) and not NO_STATEMENT.match(code) and not STATE.match(code):
        yield found[1] + ";"


def dropped_state(code: str) -> Iterator[str]:
    if (found := STATE.match(code)) and balanced(code):
        yield found[1] + ";"


def closing(code: str, begin: int) -> int:
    """Where the bracket that opens at begin closes, or -1."""
    depth = 0
    for place in range(begin, len(code)):
        depth += (code[place] in "([{") - (code[place] in ")]}")
        if depth == 0:
            return place
    return -1


def arguments(code: str, begin: int, end: int) -> list[tuple[int, int]]:
    """Where the arguments between two brackets begin and end."""
    cuts, depth = [begin], 0
    for place in range(begin + 1, end):
        depth += (code[place] in "([{") - (code[place] in ")]}")
        if code[place] == "," and depth == 0:
            cuts.append(place)
    cuts.append(end)
    found = []
    for left, right in zip(cuts, cuts[1:]):
        text = code[left + 1:right]
        found.append((left + 1 + len(text) - len(text.lstrip()), right - (len(text) - len(text.rstrip()))))
    return found


def swapped(line: str, code: str) -> Iterator[str]:
    """Two neighbours among the arguments of a call, which may compile if they have one type."""
    for call in re.finditer(r"[\w>]([({])", code):
        begin, end = call.start(1), closing(code, call.start(1))
        places = arguments(code, begin, end) if end > 0 else []
        for (a, b), (c, d) in zip(places, places[1:]):
            symmetric = re.search(r"\b(?:std::min|std::max|std::swap)$", code[:begin])
            if a < b and c < d and line[a:b] != line[c:d] and not symmetric and not re.search(r"[a-z_>&*] [&*]?[a-z_]+$", code[a:b]):  # no declaration
                yield line[:a] + line[c:d] + line[b:c] + line[a:b] + line[d:]


def replaced(line: str, begin: int, end: int, text: str) -> str:
    return line[:begin] + text + line[end:]


def operators(line: str, code: str) -> Iterator[str]:
    for found in OPERATOR.finditer(code):
        for other in OPERATORS[found[0]]:
            yield replaced(line, *found.span(), other)


def constants(line: str, code: str) -> Iterator[str]:
    for found in () if re.search(r"\bvirtual\b.* = 0;", code) else NUMBER.finditer(code):
        text, suffix = found.groups()
        near = [int(text) + 1, int(text) - 1][: 2 if int(text) else 1] if text.isdigit() else [f"(2 * {text}{suffix})"]
        for other in near:
            yield replaced(line, found.start(), found.end(1 if text.isdigit() else 2), str(other))
    for found in WORD.finditer(code):
        yield replaced(line, *found.span(), WORDS[found[0]])


def conditions(line: str, code: str) -> Iterator[str]:
    for found in re.finditer(r"\b(?:if|while) (\()", code):
        begin, end = found.start(1), closing(code, found.start(1))
        inside = line[begin + 1:end]
        if end > 0 and "; " not in code[begin:end] and not re.match(r"(const )?auto\b", inside):
            for other in (f"!({inside})", f"true || ({inside})", f"false && ({inside})"):
                yield replaced(line, begin + 1, end, other)
    for found in re.finditer(r"(?<=[( ])!(?=[\w(])", code):
        yield replaced(line, *found.span(), "")
    for found in re.finditer(r" \? ([^?:]+) : ([^?:;,()]+)(?=[;,)])", code):
        (a, b), (c, d) = found.span(1), found.span(2)
        yield line[:a] + line[c:d] + line[b:c] + line[a:b] + line[d:]


def ignored_option(line: str, code: str) -> Iterator[str]:
    """The option is read, checked and shown, but into a copy that nobody looks at."""
    if found := OPTION.search(code):
        a, b = found.span(2)
        yield replaced(line, a, b, f"*new auto({line[a:b]})")


MAKERS = {"dropped statement": lambda line, code: dropped_statement(code), "dropped state": lambda line, code: dropped_state(code),
          "ignored option": ignored_option, "swapped arguments": swapped, "operator": operators, "constant": constants, "condition": conditions}


def mutants(line: str, kind: str) -> list[str]:
    code = blanked(line)
    if re.match(r"\s*(?:#|///?|\*|static_assert|namespace|using|template|default:)", code) or not code.strip():
        return []
    return [other for other in dict.fromkeys(MAKERS[kind](line, code)) if other != line]
