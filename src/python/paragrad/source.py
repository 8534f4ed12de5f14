"""What the code of a strategy, a model or a compressor consists of, as hashes by name.

A hash is that of compiled code, without comments and line numbers, so it is the code that runs, even if its file has changed
since it was imported. Code of libraries counts by its name only.
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import dis
import functools
import hashlib
import importlib.util
import inspect
import linecache
import sys
import textwrap
import types
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

SIMPLE = (type(None), bool, int, float, complex, str, bytes, range, slice, type(...), type(NotImplemented))
OF_C = (types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType, types.GetSetDescriptorType,
        types.MemberDescriptorType, types.ClassMethodDescriptorType)
WITHOUT_EFFECT = {"__module__", "__qualname__", "__dict__", "__weakref__", "__doc__", "__annotations__", "__annotate__", "__annotate_func__",
                  "__annotations_cache__", "__firstlineno__", "__static_attributes__", "__dataclass_fields__", "__dataclass_params__",
                  "__match_args__", "__slots__", "__slotnames__", "__abstractmethods__", "_abc_impl", "__orig_bases__", "__parameters__", "__type_params__"}


def parts_of(kind: type) -> dict[str, str]:
    """Hashes of everything of the user's that decides what objects of the class do, by name: its functions (`Gossip.step`), its
    attributes and the defaults of its fields (`Gossip.weight`), the constants, functions and classes that they use (`DECAY`,
    `helpers.mix`), and of Python, on whose version compiled code depends."""
    parts = Parts(kind.__module__)
    parts.describe(kind)
    return {"Python": ".".join(map(str, sys.version_info[:2]))} | parts.found


def fingerprint(value: Any, without: Collection[int] = ()) -> str:
    """Equal for values that the code of a class cannot tell apart. without: identities of objects that do not count."""
    parts = Parts("", without)
    return hashed(parts.describe(value) + repr(parts.found))


def hashed(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def is_of_a_library(module: str | None) -> bool:
    """Python's own, this package, or an installed one."""
    top = (module or "builtins").partition(".")[0]
    if top in sys.stdlib_module_names or top in ("builtins", "paragrad"):
        return True
    file = getattr(sys.modules.get(top), "__file__", None)
    return file is not None and not {"site-packages", "dist-packages"}.isdisjoint(Path(file).parts)


class Parts:
    """Describes values as texts; functions, classes and global variables get a part of their own, by which others refer to them."""

    def __init__(self, home: str, without: Collection[int] = ()) -> None:
        self.home = home  # a module, whose names are not prefixed
        self.without = without
        self.found: dict[str, str] = {}
        self.names: dict[int, str] = {}   # of functions and classes, by identity
        self.globals: set[tuple[str, str]] = set()
        self.active: list[int] = []       # values that are being described
        self.kept: list[Any] = []         # so that no identity is reused

    def describe(self, value: Any) -> str:
        if id(value) in self.without:
            return "left out"
        if isinstance(value, SIMPLE):
            return f"{type(value).__name__} {value!r}"
        if isinstance(value, types.FunctionType):
            return self.function(value)
        if isinstance(value, type):
            return self.of_class(value)
        if isinstance(value, types.ModuleType):
            return f"module {value.__name__}"
        if isinstance(value, OF_C):
            return f"{getattr(value, '__module__', '')} {value.__qualname__}"
        if id(value) in self.active:
            return f"the same {self.active.index(id(value))}"
        self.active.append(id(value))
        try:
            return f"{type(value).__qualname__}({self.content(value)})"
        finally:
            self.active.pop()

    def content(self, value: Any) -> str:
        if isinstance(value, (set, frozenset)):
            return ", ".join(sorted(map(self.describe, value)))
        if type(value) in (list, tuple):
            return ", ".join(map(self.describe, value))
        if type(value) is dict:
            return ", ".join(f"{self.describe(key)}: {self.describe(each)}" for key, each in value.items())
        if isinstance(value, types.CodeType):
            return self.code(value)
        if isinstance(value, types.MethodType):
            return f"{self.describe(value.__func__)}, {self.describe(value.__self__)}"
        if isinstance(value, (staticmethod, classmethod)):
            return self.describe(value.__func__)
        if isinstance(value, property):
            return ", ".join(map(self.describe, (value.fget, value.fset, value.fdel)))
        if isinstance(value, functools.cached_property):
            return self.describe(value.func)
        if hasattr(value, "dtype") and hasattr(value, "tobytes"):  # NumPy's
            whole = value.tolist() if value.dtype.hasobject else hashlib.sha256(value.tobytes()).hexdigest()
            return f"{value.dtype} {value.shape} {self.describe(whole)}"
        if hasattr(value, "detach") and hasattr(value, "numpy"):  # PyTorch's
            return f"{value.dtype} {self.describe(value.detach().cpu().double().numpy() if value.is_floating_point() else value.cpu().numpy())}"
        if hasattr(value, "__wrapped__"):
            return self.describe(value.__wrapped__)
        return self.state(value)

    def state(self, value: Any) -> str:
        """As pickle would save the object; nothing of what it could not save."""
        try:
            saved = value.__reduce_ex__(4)
        except Exception:  # whatever the object's own code raises
            return self.describe(type(value))
        if isinstance(saved, str):
            return saved
        return ", ".join(self.describe(list(each) if isinstance(each, Iterator) else each) for each in saved)

    def add(self, name: str, text: str) -> None:
        """A property and its function have the same name."""
        self.found[name] = hashed(self.found.get(name, "") + text)

    def named(self, thing: Any) -> tuple[str, bool]:
        """The name of a function or class, and whether it is new."""
        if id(thing) in self.names:
            return self.names[id(thing)], False
        plain = name = thing.__qualname__ if thing.__module__ == self.home else f"{thing.__module__}.{thing.__qualname__}"
        number = 1
        while name in self.found:
            number += 1
            name = f"{plain} ({number})"
        self.names[id(thing)] = name
        self.kept.append(thing)
        self.found[name] = ""
        return name, True

    def function(self, function: types.FunctionType) -> str:
        if is_of_a_library(function.__module__):
            return f"function {function.__module__}.{function.__qualname__}"
        name, is_new = self.named(function)
        if is_new:
            closure = [cell.cell_contents for cell in function.__closure__ or () if has_content(cell)]
            text = [self.code(function.__code__, function.__doc__), *map(self.describe, (function.__defaults__, function.__kwdefaults__, closure))]
            self.found[name] = hashed(repr(text))
            self.variables(function)
        return f"function {name}"

    def code(self, code: types.CodeType, doc: str | None = None) -> str:
        constants = [None if index == 0 and doc is not None and each == doc else each for index, each in enumerate(code.co_consts)]
        return repr((code.co_code, [self.describe(each) for each in constants], code.co_names, code.co_varnames, code.co_freevars,
                     code.co_cellvars, code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_exceptiontable))

    def variables(self, function: types.FunctionType) -> None:
        """The global variables that it uses, and those of the user's modules that it uses."""
        names = {name for code in codes_in(function.__code__) for name in code.co_names}
        for code in codes_in(function.__code__):
            for instruction in dis.get_instructions(code):
                if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME") and instruction.argval in function.__globals__:
                    self.variable(function.__module__, instruction.argval, function.__globals__[instruction.argval], names)
                if instruction.opname == "IMPORT_NAME" and (module := users_module(instruction.argval)):
                    self.variable(function.__module__, instruction.argval, module, names)

    def variable(self, module: str, name: str, value: Any, names: set[str]) -> None:
        """names: what may be used of a module."""
        if isinstance(value, types.ModuleType):
            if not is_of_a_library(value.__name__):
                for each in sorted(names & vars(value).keys()):
                    self.variable(value.__name__, each, vars(value)[each], names)
            return
        if (module, name) in self.globals:
            return
        self.globals.add((module, name))
        text = self.describe(value)
        if not isinstance(value, (types.FunctionType, type)):  # which have a part of that name
            self.add(name if module == self.home else f"{module}.{name}", text)

    def of_class(self, kind: type) -> str:
        if is_of_a_library(kind.__module__):
            return f"class {kind.__module__}.{kind.__qualname__}"
        name, is_new = self.named(kind)
        if is_new:
            self.found[name] = hashed(", ".join(map(self.describe, kind.__bases__)))
            fields = vars(kind).get("__dataclass_fields__", {})
            for each, value in list(vars(kind).items()):
                if each in WITHOUT_EFFECT or each in fields or is_generated(value):
                    continue
                text = self.describe(value)
                if not isinstance(value, types.FunctionType):
                    self.add(f"{name}.{each}", text)
            for each, field in fields.items():
                default = [None if value is dataclasses.MISSING else [value] for value in (field.default, field.default_factory)]
                self.add(f"{name}.{each}", self.describe([*default, field.init]))
        return f"class {name}"


def has_content(cell: types.CellType) -> bool:
    try:
        cell.cell_contents
    except ValueError:
        return False
    return True


def is_generated(value: Any) -> bool:
    """By dataclass, from the fields."""
    return isinstance(value, OF_C) or isinstance(value, types.FunctionType) and inspect.unwrap(value).__code__.co_filename == "<string>"


def codes_in(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            yield from codes_in(each)


def users_module(name: str) -> types.ModuleType | None:
    """The module that a function imports, unless it is a library's."""
    top = name.partition(".")[0]
    with contextlib.suppress(Exception):  # of a module that cannot be imported, which the function may expect
        spec = importlib.util.find_spec(top)
        if spec and spec.origin and {"site-packages", "dist-packages"}.isdisjoint(Path(spec.origin).parts) and not is_of_a_library(top):
            return importlib.import_module(name)
    return None


def text_of(kind: type) -> str | None:
    """The source of the class and of the user's classes that it derives from. None if there is none, or it is no longer what runs."""
    linecache.checkcache()
    texts = []
    for each in reversed(kind.__mro__):
        if is_of_a_library(each.__module__):
            continue
        functions = [value for value in vars(each).values() if isinstance(value, types.FunctionType) and not is_generated(value)]
        try:
            if not all(is_in_its_file(function.__code__) for function in functions):
                return None
            texts.append(class_around(functions[0].__code__, each.__name__) if functions else textwrap.dedent(inspect.getsource(each)))
        except (OSError, SyntaxError, TypeError):
            return None
    return "\n\n".join(texts)


def class_around(code: types.CodeType, name: str) -> str:
    """The source of the class in which a function is defined. (inspect.getsource does not find a notebook's classes.)"""
    lines = linecache.getlines(code.co_filename)
    for node in ast.walk(ast.parse("".join(lines))):
        if isinstance(node, ast.ClassDef) and node.name == name and node.lineno <= code.co_firstlineno <= node.end_lineno:
            first = min(each.lineno for each in (node, *node.decorator_list))
            return textwrap.dedent("".join(lines[first - 1:node.end_lineno]))
    raise OSError("it is not there")


def is_in_its_file(code: types.CodeType) -> bool:
    """Notebooks compile each statement by itself, which gives other code."""
    tree = ast.parse("".join(linecache.getlines(code.co_filename)))
    statements = [ast.Module([each], []) for each in tree.body if isinstance(each, ast.ClassDef)]
    compiled = (compile(each, code.co_filename, "exec", dont_inherit=True) for each in (tree, *statements))
    return any(each.co_qualname == code.co_qualname and is_same(each, code) for whole in compiled for each in codes_in(whole))


def is_same(one: types.CodeType, other: types.CodeType) -> bool:
    """Except for line numbers."""
    ones, others = ([(code.co_code, code.co_names, [each for each in code.co_consts if not isinstance(each, types.CodeType)])
                     for code in codes_in(of)] for of in (one, other))
    return ones == others
