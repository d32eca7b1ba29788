"""Finding the class that ``--runtime MODULE:CLASS`` names, and making the one object of it.

Every mistake is one sentence for the person who started the agent.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Final

from runtimes.provider.plan import Abilities
from runtimes.provider.pod_provider import PodProvider, ProviderContext
from runtimes.provider.reports import cut

REQUIRED: Final = {"run": ("pod",), "stop": ("pod", "grace"), "observe": ()}
OPTIONAL: Final = {"node": (), "update": ("pod",), "forget": ("pod",), "attach": ("context",)}
_SENTENCE_BYTES: Final = 500


class ProviderLoadError(Exception):
    """The class cannot be used. The text is one sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedProvider:
    """The one object of a provider's class."""

    name: str
    """As it was named."""
    version: str
    """``__version__`` of the module, if it has one."""
    provider: object
    can: Abilities


def load_provider(name: str) -> LoadedProvider:
    """Return the provider that ``name`` says: ``MODULE:CLASS`` or ``FILE.py:CLASS``.

    Modules are looked for beside the agent's own, in the current directory, and in ``PYTHONPATH``.
    Raises ``ProviderLoadError``.
    """
    place, colon, class_name = name.rpartition(":")
    if not colon or not place or not class_name.isidentifier():
        raise ProviderLoadError(f"{name!r} names no class: expected MODULE:CLASS, or FILE.py:CLASS")
    if "/" in place and not place.endswith(".py"):
        raise ProviderLoadError(f"{place} is no file of Python: its name should end with .py")
    module = _module(place)
    found = getattr(module, class_name, None)
    if not inspect.isclass(found):
        what = "has no class" if found is None else "has something that is no class, called"
        raise ProviderLoadError(f"{place} {what} {class_name}")
    _check_methods(found, name)
    return LoadedProvider(
        name=name,
        version=str(getattr(module, "__version__", "")),
        provider=_made(found, name),
        can=abilities_of(found),
    )


def attached(loaded: LoadedProvider, context: ProviderContext) -> LoadedProvider:
    """Return ``loaded`` after its provider got ``context``, if it wants one. Raises as above."""
    attach = getattr(loaded.provider, "attach", None)
    try:
        if attach is not None:
            attach(context)
    except BaseException as error:  # also KeyboardInterrupt: signals raise nothing here
        raise ProviderLoadError(f"{loaded.name}: attach raised {_said(error)}") from error
    return loaded


def abilities_of(found: type) -> Abilities:
    """Return which optional methods a class has, and what it does itself."""
    return Abilities(
        update=_is_own(found, "update"),
        forget=_is_own(found, "forget"),
        node=_is_own(found, "node"),
        volumes=bool(getattr(found, "makes_volumes", False)),
    )


def _module(place: str) -> ModuleType:
    try:
        if place.endswith(".py"):
            return _module_of_file(Path(place).absolute())
        _look_in(Path.cwd())
        return importlib.import_module(place)
    except BaseException as error:  # also KeyboardInterrupt: signals raise nothing here
        raise ProviderLoadError(f"{place} cannot be imported: {_said(error)}") from error


def _module_of_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    _look_in(path.parent)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None or path.stem in sys.modules:
        raise ImportError(f"the name {path.stem} is taken by a module of the agent")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[path.stem]
        raise
    return module


def _look_in(folder: Path) -> None:
    """Have modules looked for in ``folder`` too, after the agent's own."""
    if str(folder) not in sys.path:
        sys.path.insert(1, str(folder))


def _check_methods(found: type, name: str) -> None:
    for method, arguments in (REQUIRED | OPTIONAL).items():
        is_required = method in REQUIRED
        function = getattr(found, method, None)
        is_missing = function is None or getattr(function, "__isabstractmethod__", False)
        if is_missing and not is_required:
            continue
        wanted = f"{method}({', '.join(arguments)})"
        if is_missing or not callable(function):
            raise ProviderLoadError(f"{name} has no method {wanted}")
        if not _takes(function, len(arguments), found, method):
            raise ProviderLoadError(f"{name}: its method {method} cannot be called as {wanted}")


def _takes(function: object, count: int, owner: type, method: str) -> bool:
    is_bound = isinstance(inspect.getattr_static(owner, method), staticmethod | classmethod)
    try:
        signature = inspect.signature(function)  # type: ignore[arg-type]
        signature.bind(*range(count if is_bound else count + 1))
    except (TypeError, ValueError):
        return False
    return True


def _made(found: type, name: str) -> object:
    try:
        return found()
    except BaseException as error:  # also KeyboardInterrupt: signals raise nothing here
        raise ProviderLoadError(
            f"{name} cannot be made without arguments: {_said(error)}"
        ) from error


def _is_own(found: type, method: str) -> bool:
    """Whether ``found`` has a method of its own, and not only the empty one of ``PodProvider``."""
    function = getattr(found, method, None)
    return function is not None and function is not getattr(PodProvider, method, None)


def _said(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return cut(f"{type(error).__name__}: {text}" if text else type(error).__name__, _SENTENCE_BYTES)
