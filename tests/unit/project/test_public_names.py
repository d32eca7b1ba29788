"""What people may import to write a virtual node stays as it is, name by name."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typing_extensions import is_protocol

import actorlet
from tests.support.project.checkout import ROOT, modules

KEPT = Path(__file__).parents[2] / "fixtures/public/actorlet.txt"


def surface() -> Iterator[str]:
    """Yield a line for each public name, and for what each class has."""
    for name in actorlet.__all__:
        found = getattr(actorlet, name)
        if not inspect.isclass(found):
            yield f"{name} = {found}"
            continue
        made = "" if is_protocol(found) else inspect.signature(found)
        yield f"class {name}{made}"
        for member, value in sorted(vars(found).items()):
            if not member.startswith("_"):
                yield f"    {_described(member, value)}"


def _described(name: str, value: Any) -> str:
    match value:
        case classmethod():
            return f"{name}{inspect.signature(value.__func__)}"
        case property(fget=read) if read is not None:
            return f"{name}: {inspect.signature(read).return_annotation}"
        case _ if inspect.isfunction(value):
            return f"{name}{inspect.signature(value)}"
        case _:
            return name


def test_the_public_names_and_what_they_have_stay() -> None:
    assert "\n".join(surface()) + "\n" == KEPT.read_text()


def test_each_public_class_says_what_it_is_for() -> None:
    classes = [each for each in map(vars(actorlet).get, actorlet.__all__) if inspect.isclass(each)]
    undocumented = [
        f"{each.__name__}.{name}"
        for each in classes
        for name, value in vars(each).items()
        if inspect.isfunction(value) and not name.startswith("_") and not inspect.getdoc(value)
    ]
    assert undocumented == []
    assert [each.__name__ for each in classes if not each.__doc__] == []


def test_the_agent_itself_does_not_import_them() -> None:
    users = [
        path
        for path, module in modules().items()
        for each in ast.walk(module)
        if isinstance(each, ast.ImportFrom) and each.module == "actorlet"
    ]
    assert users == ["runtimes/virtual/provider.py"]


def test_the_name_of_before_has_them_and_says_where_they_are() -> None:
    program = (
        "import actorlet, runtimes.virtual.provider as before\n"
        "assert all(getattr(before, name) is getattr(actorlet, name) for name in actorlet.__all__)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "FutureWarning: import from actorlet" in ran.stderr
