"""Which modules only decide: they do no I/O, read no clock, and run no threads, also at second hand.

It is computed from what each function and class uses. A module is pure if none of its own uses anything of
``WORLD`` that is not ``HARMLESS``, nor a method of ``ON_DISK``, nor a function or class of the project that
does, at any remove. Annotations do not count, nor does what is given to ``partial``: others call it.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Final, NamedTuple

import click

WORLD: Final = frozenset(
    """
    aiohttp asyncio click concurrent ctypes fcntl grpc http importlib kubernetes logging multiprocessing os
    pathlib pickle platform prometheus_client pykka pyreqwest queue random resource rich secrets select
    shutil signal socket ssl structlog subprocess sys tempfile tenacity textual threading time urllib uuid
    watchfiles
    """.split()  # noqa: SIM905 - a column of forty names would say less
)
"""Libraries that do something."""
HARMLESS: Final = tuple(
    """
    aiohttp.Http* aiohttp.typedefs.* aiohttp.web.*Response click.* http.HTTPStatus* os.*_result os.PathLike
    os.[A-Z]* os.fsdecode os.fsencode os.fspath os.path os.path.* os.sep os.strerror pathlib.*
    prometheus_client.* pyreqwest.exceptions.* random.Random rich.* signal.SIG* signal.Signals*
    signal.valid_signals socket.AF_* socket.AddressFamily ssl.SSL*Error structlog.typing.* sys.getsizeof
    sys.intern sys.maxsize tenacity.RetryCallState tenacity.Retrying tenacity.wait_* time.localtime
    time.strftime time.struct_time urllib.parse* uuid.NAMESPACE_* uuid.UUID uuid.uuid5
    """.split()  # noqa: SIM905 - as above
)
"""What of them only computes. Of a path, ``ON_DISK`` has what does not."""
ON_DISK: Final = frozenset(
    """
    chmod exists glob is_dir is_file is_symlink iterdir lstat mkdir open read_bytes read_text readlink
    rglob rmdir stat symlink_to touch unlink write_bytes write_text
    """.split()  # noqa: SIM905 - a column of forty names would say less
)
BUILTINS: Final = frozenset({"input", "open", "print"})
ITS_OWN: Final = frozenset({"_SCHEMA_FILE.read_bytes"})
"""Reads a file of the package, which says the same to all."""
AN_ACTOR: Final = frozenset({"kernel.actor.BaseActor"})
"""Whoever is one has a state and a turn: it never only decides."""


class Use(NamedTuple):
    """What a definition uses: a name of a module of the project."""

    path: str
    name: str


@dataclass(slots=True)
class Definition:
    """A function, a class or a constant at the top of a module; all other statements are one together."""

    is_imported: bool = False
    """It is defined elsewhere. Others may import it from here."""
    touches: str = ""
    """What it uses of the world itself; empty if nothing."""
    uses: set[Use] = field(default_factory=set)


class Modules:
    """All modules of the product in a checkout."""

    def __init__(self, checkout: Path) -> None:
        settings = tomllib.loads((checkout / "pyproject.toml").read_text("utf-8"))
        self._rooms = frozenset(settings["tool"]["importlinter"]["root_packages"])
        found = (path for room in sorted(self._rooms) for path in (checkout / room).rglob("*.py"))
        self._trees = {
            path.relative_to(checkout).as_posix(): ast.parse(path.read_bytes()) for path in found
        }

    @cached_property
    def reasons(self) -> dict[str, str]:
        """Why modules are not pure, by path: what they touch, or use of a module that touches it."""
        every = {
            path: _Reader(path, tree, self).definitions() for path, tree in self._trees.items()
        }
        users: dict[Use, list[Use]] = {}
        found: dict[Use, str] = {}
        for path, definitions in every.items():
            for name, definition in definitions.items():
                user = Use(path, name)
                if definition.touches:
                    found[user] = definition.touches
                for used in definition.uses:
                    users.setdefault(used, []).append(user)
        waiting = list(found)
        while waiting:
            used = waiting.pop()
            for user in users.get(used, ()):
                if user not in found:
                    found[user] = f"{used.name} of {used.path}"
                    waiting.append(user)
        return {
            use.path: f"{use.name}: {why}"
            for use, why in sorted(found.items(), reverse=True)
            if not every[use.path][use.name].is_imported
        }

    def pure(self) -> list[str]:
        """Return the paths of the modules that only decide, in order."""
        return sorted(path for path in self._trees if path not in self.reasons)

    def is_ours(self, name: str) -> bool:
        """Return whether a dotted name is of the project."""
        return name.partition(".")[0] in self._rooms

    def path_of(self, module: str) -> str:
        """Return where a module is; empty if there is none of that name."""
        base = module.replace(".", "/")
        return next(
            (each for each in (f"{base}.py", f"{base}/__init__.py") if each in self._trees), ""
        )


class _Reader:
    """Reads the definitions of one module."""

    def __init__(self, path: str, tree: ast.Module, modules: Modules) -> None:
        self._path = path
        self._tree = tree
        self._modules = modules
        self._imported = _imported(tree)

    def definitions(self) -> dict[str, Definition]:
        """Return them by name, and all other statements under the empty name."""
        found = {"": Definition()}
        self._names = {name for each in self._tree.body for name in _defined(each)}
        for name, origin in self._imported.items():
            uses = set(self._uses_of(origin))
            found[name] = Definition(is_imported=True, uses=uses)
            found[""].uses.update(each for each in uses if not each.name)
        for statement in self._tree.body:
            for name in _defined(statement) or [""]:
                definition = found.setdefault(name, Definition())
                for node in _running(statement):
                    self._note(definition, node)
        return found

    def _note(self, definition: Definition, node: ast.AST) -> None:
        if isinstance(node, ast.Call) and _is_on_disk(node.func):
            definition.touches = ast.unparse(node.func)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            return
        dotted = _dotted(node)
        if not dotted:
            return
        first, _, rest = dotted.partition(".")
        if first in self._imported:
            origin = ".".join(filter(None, (self._imported[first], rest)))
            if origin in AN_ACTOR or _is_of_world(origin):
                definition.touches = origin
            definition.uses.update(self._uses_of(origin))
        elif first in self._names:
            definition.uses.add(Use(self._path, first))
        elif first in BUILTINS:
            definition.touches = first

    def _uses_of(self, origin: str) -> Iterator[Use]:
        """Yield what a dotted name stands for, and what runs when its module is imported."""
        if not self._modules.is_ours(origin):
            return
        parts = origin.split(".")
        for count in range(len(parts), 0, -1):
            path = self._modules.path_of(".".join(parts[:count]))
            if path:
                yield Use(path, "")
                if count < len(parts):
                    yield Use(path, parts[count])
                return


def _imported(tree: ast.Module) -> dict[str, str]:
    """Return what names of a module stand for, with the dots of where they come from."""
    found: dict[str, str] = {}
    for each in ast.walk(tree):
        if isinstance(each, ast.Import):
            for name in each.names:
                first = name.name.partition(".")[0]
                found[name.asname or first] = name.name if name.asname else first
        elif isinstance(each, ast.ImportFrom):
            found |= {name.asname or name.name: f"{each.module}.{name.name}" for name in each.names}
    return found


def _defined(statement: ast.stmt) -> list[str]:
    """Return the names that a statement at the top of a module defines."""
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.Assign(targets=targets):
            return [each.id for each in targets if isinstance(each, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
        case _:
            return []


def _running(statement: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of a statement that run, without annotations, in no order."""
    waiting = [statement]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(_parts_that_run(node))


def _parts_that_run(node: ast.AST) -> Iterable[ast.AST]:
    """Return the parts of a node, without those that are for types, and that run elsewhere."""
    match node:
        case ast.If(test=test, orelse=orelse) if "TYPE_CHECKING" in ast.unparse(test):
            return orelse
        case ast.AnnAssign(annotation=ast.Name(id="TypeAlias")):
            return ()
        case ast.Call(func=ast.Name(id="partial"), args=[_, *given], keywords=keywords):
            return (*given, *keywords)
        case ast.Attribute() if _dotted(node):
            return ()
    parts = [
        value for name, value in ast.iter_fields(node) if name not in {"annotation", "returns"}
    ]
    nodes = (each for part in parts for each in (part if isinstance(part, list) else [part]))
    return [each for each in nodes if isinstance(each, ast.AST)]


def _dotted(node: ast.AST) -> str:
    """Return a name, or attributes of one, with its dots; empty for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join((node.id, *reversed(parts))) if isinstance(node, ast.Name) else ""


def _is_of_world(name: str) -> bool:
    library, _, rest = name.partition(".")
    return library in WORLD and bool(rest) and not any(fnmatchcase(name, each) for each in HARMLESS)


def _is_on_disk(called: ast.expr) -> bool:
    is_method = isinstance(called, ast.Attribute) and called.attr in ON_DISK
    return is_method and ast.unparse(called) not in ITS_OWN


@click.command()
@click.option("--why", is_flag=True, help="Print the others, and what keeps each from it.")
def main(*, why: bool) -> None:
    """Print the kernel and the modules that only decide, for coverage."""
    modules = Modules(Path.cwd())
    if why:
        click.echo("\n".join(f"{path}: {each}" for path, each in sorted(modules.reasons.items())))
    else:
        click.echo(",".join(("kernel/*", *modules.pure())))


if __name__ == "__main__":
    main()
