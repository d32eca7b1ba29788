"""Which modules only decide: they do no I/O, read no clock, and run no threads, also at second hand.

A module is pure if it uses nothing of the modules ``WORLD`` but what ``HARMLESS`` names, calls no method
of ``ON_DISK``, and imports only pure modules. Imports for annotations alone do not count.
"""

from __future__ import annotations

import argparse
import ast
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

WORLD: Final = frozenset(
    """
    aiohttp asyncio click concurrent ctypes fcntl grpc http importlib kubernetes logging multiprocessing os
    pathlib pickle platform prometheus_client pykka pyreqwest queue random resource rich secrets select
    shutil signal socket ssl structlog subprocess sys tempfile tenacity textual threading time urllib uuid
    watchfiles
    """.split()
)
HARMLESS: Final = (
    *("http.HTTPStatus", "urllib.parse*", "uuid.UUID", "uuid.uuid5", "uuid.NAMESPACE_*"),
    *("os.fspath", "os.path.*", "os.PathLike", "os.sep", "os.strerror", "os.fsencode", "os.fsdecode"),
    *("os.[A-Z]*", "signal.SIG*", "signal.Signals", "signal.valid_signals"),
    *("pathlib.*", "sys.intern", "sys.getsizeof", "sys.maxsize", "time.struct_time"),
)
"""Constants, and functions of their arguments alone. Of a path, ``ON_DISK`` has what is not."""
ON_DISK: Final = frozenset(
    """
    chmod exists glob is_dir is_file is_symlink iterdir lstat mkdir open read_bytes read_text readlink
    rename resolve rglob rmdir stat symlink_to touch unlink write_bytes write_text
    """.split()
)


@dataclass(frozen=True, slots=True)
class Module:
    """What one module uses."""

    path: str
    touches: str
    """What it uses of the world; empty if nothing."""
    imports: frozenset[str]
    """Modules of the project, or names in packages of it."""


def impure(checkout: Path) -> dict[str, str]:
    """Return why modules are not pure, by path: what they touch, or which module they import that does."""
    modules = {each.path: each for each in _modules(checkout)}
    found = {path: each.touches for path, each in modules.items() if each.touches}
    users: dict[str, list[str]] = {}
    for path, each in modules.items():
        for imported in _resolved(each.imports, modules):
            users.setdefault(imported, []).append(path)
    waiting = list(found)
    while waiting:
        path = waiting.pop()
        for user in users.get(path, ()):
            if user not in found:
                found[user] = path
                waiting.append(user)
    return found


def pure(checkout: Path) -> list[str]:
    """Return the paths of the modules that only decide, in order. Packages without code are not among them."""
    reasons = impure(checkout)
    return sorted(each.path for each in _modules(checkout) if each.path not in reasons)


def _modules(checkout: Path) -> Iterator[Module]:
    settings = tomllib.loads((checkout / "pyproject.toml").read_text("utf-8"))
    rooms = settings["tool"]["importlinter"]["root_packages"]
    for room in rooms:
        for path in sorted((checkout / room).rglob("*.py")):
            tree = ast.parse(path.read_text("utf-8"))
            names = _imported(tree)
            yield Module(
                path=str(path.relative_to(checkout)),
                touches=next(_touched(tree, names), ""),
                imports=frozenset(each for each in names.values() if each.split(".")[0] in rooms),
            )


def _imported(tree: ast.Module) -> dict[str, str]:
    """Return what names of a module stand for, with the dots of where they come from."""
    found: dict[str, str] = {}
    for each in _statements(tree):
        if isinstance(each, ast.Import):
            found |= {name.asname or name.name: name.name for name in each.names}
        elif isinstance(each, ast.ImportFrom):
            found |= {name.asname or name.name: f"{each.module}.{name.name}" for name in each.names}
    return found


def _statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield what runs, in no order."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        is_for_types = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        waiting.extend(node.orelse if is_for_types else ast.iter_child_nodes(node))


def _touched(tree: ast.Module, names: Mapping[str, str]) -> Iterator[str]:
    """Yield what a module uses of the world."""
    for name, origin in names.items():
        if "." in origin and name != origin and _is_of_world(origin):
            yield origin
    for each in _statements(tree):
        if isinstance(each, ast.Attribute):
            used = _dotted(each, names)
            if used and _is_of_world(used):
                yield used
        if isinstance(each, ast.Call) and _is_on_disk(each.func):
            yield ast.unparse(each.func)


def _is_of_world(name: str) -> bool:
    is_harmless = any(fnmatchcase(name, each) for each in HARMLESS)
    return name.split(".")[0] in WORLD and not is_harmless


def _dotted(node: ast.Attribute, names: Mapping[str, str]) -> str:
    """Return an attribute of an imported module with the name of that module; empty for any other."""
    parts, value = [node.attr], node.value
    while isinstance(value, ast.Attribute):
        parts.append(value.attr)
        value = value.value
    origin = names.get(value.id, "") if isinstance(value, ast.Name) else ""
    return ".".join((origin, *reversed(parts))) if origin in WORLD else ""


def _is_on_disk(called: ast.expr) -> bool:
    if isinstance(called, ast.Name):
        return called.id in {"open", "input", "print"}
    return isinstance(called, ast.Attribute) and called.attr in ON_DISK


def _resolved(names: Iterable[str], modules: Mapping[str, Module]) -> Iterator[str]:
    for each in names:
        base = each.replace(".", "/")
        outer = base.rpartition("/")[0]
        for path in (f"{base}.py", f"{base}/__init__.py", f"{outer}.py", f"{outer}/__init__.py"):
            if path in modules:
                yield path
                break


def main() -> None:
    """Print the modules that only decide; with ``--why`` the others, and what keeps them from it."""
    parser = argparse.ArgumentParser(description="Which modules only decide.")
    parser.add_argument("--why", action="store_true", help="print the others with what they touch")
    checkout = Path.cwd()
    if parser.parse_args().why:
        for path, reason in sorted(impure(checkout).items()):
            print(f"{path}: {reason}")
        return
    print(",".join(pure(checkout)))


if __name__ == "__main__":
    main()
