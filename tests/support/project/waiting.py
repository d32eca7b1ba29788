"""How tests wait: for ``PATIENCE`` and no number of their own, and none goes on when nothing has come.

What is enough on the machine of whoever wrote it is too little on one that does much else. Looked at is
the text alone: calls by the names that waits have, and constants of the tests that are numbers.
"""

from __future__ import annotations

import ast
from functools import cache
from typing import Final

from tests.support.project.checkout import ROOT

METHODS: Final = ("wait", "wait_started", "join", "result", "settimeout", "ends")
"""Methods whose first argument says for how long."""
FUNCTIONS: Final = ("eventually", "wait_until")
"""Functions whose second argument does."""
BY_NAME: Final = (
    "Barrier", "HTTPConnection", "ask", "check_output", "communicate", "create_connection", "eventually",
    "get", "join", "logs", "result", "run", "stop", "urlopen", "wait",
)  # fmt: skip
"""What waits for as long as its argument of one of these names says."""
NAMES: Final = ("timeout", "patience")
PAUSES: Final = ("pause", "_pause", "Event")
"""What nobody sets: its ``wait`` is a pause."""


def own_times(path: str, text: str) -> list[str]:
    """Return the waits of this file of tests that last for a number of their own.

    Not those that are to last until their end: a pause, and ``not event.wait(0.1)``.
    """
    tree = ast.parse(text)
    numbers = _numbers(tree)
    silences = {id(each.operand) for each in ast.walk(tree) if isinstance(each, ast.UnaryOp)}
    return [
        f"{path}:{call.lineno}: {ast.unparse(call)}"
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and id(call) not in silences and not _is_pause(call)
        if (time := _time_of(call)) is not None and _is_number(time, numbers)
    ]


def unseen_waits(path: str, text: str) -> list[str]:
    """Return the waits of this file of tests that go on alike, whether what should come has come or not.

    A process raises. A thread or a tree of actors that does not end is seen: no test may leave one behind.
    """
    return [
        f"{path}:{each.lineno}: {ast.unparse(each)}"
        for each in ast.walk(ast.parse(text))
        if isinstance(each, ast.Expr) and isinstance(each.value, ast.Call)
        if isinstance(each.value.func, ast.Attribute) and each.value.func.attr == "wait"
        if _waits_for_patience(each.value) and not _raises(each.value.func.value)
    ]


def _waits_for_patience(call: ast.Call) -> bool:
    return any(
        isinstance(each, ast.Name) and each.id == "PATIENCE"
        for argument in call.args
        for each in ast.walk(argument)
    )


def _raises(waiter: ast.expr) -> bool:
    name = _name_of(waiter)
    return "process" in name or name == "system"


def _name_of(node: ast.expr) -> str:
    match node:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
        case ast.Call(func=function):
            return _name_of(function)
        case _:
            return ""


def _is_pause(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and _name_of(call.func.value) in PAUSES


def _time_of(call: ast.Call) -> ast.expr | None:
    name = _name_of(call.func)
    if name in BY_NAME:
        for each in call.keywords:
            if each.arg in NAMES:
                return each.value
    match call.func:
        case ast.Attribute(attr=method) if method in METHODS:
            at = 0
        case ast.Name(id=function) if function in FUNCTIONS:
            at = 1
        case ast.Attribute(value=ast.Name(id="asyncio"), attr="wait_for"):
            at = 1
        case _:
            return None
    return call.args[at] if at < len(call.args) else None


def _is_number(time: ast.expr, numbers: dict[str, bool]) -> bool:
    """Return whether it is a number above 0, by itself or by its name."""
    match time:
        case ast.Constant(value=int() | float() as value):
            return value > 0
        case ast.Call(func=ast.Name(id="Seconds"), args=[inner]):
            return _is_number(inner, numbers)
        case ast.Name(id=name):
            return numbers.get(name, False)
        case _:
            return False


@cache
def _numbers_at(module: str) -> dict[str, bool]:
    file = ROOT.joinpath(*module.split(".")).with_suffix(".py")
    return _numbers(ast.parse(file.read_text())) if file.is_file() else {}


def _numbers(tree: ast.Module) -> dict[str, bool]:
    """Return which names at the top of a file, with those from other tests, are numbers."""
    numbers: dict[str, bool] = {}
    for each in tree.body:
        match each:
            case ast.ImportFrom(module=str(module)) if module.startswith("tests."):
                theirs = _numbers_at(module)
                numbers |= {alias.name: theirs.get(alias.name, False) for alias in each.names}
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                numbers[name] = _is_number(value, numbers)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                numbers[name] = _is_number(value, numbers)
            case _:
                pass
    return numbers
