"""Modules that only some agents import: their contents are looked up at first use.

The API client takes 10 MB and gRPC 28 MB, so the table of actors names functions of these modules without
importing them. This is what PEP 810 brings into the language, ``lazy from agent import cluster``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

T = TypeVar("T")


class Late(NamedTuple):
    """A name of a module that may not have been imported yet."""

    module: str
    name: str

    def found(self) -> Any:
        """Return what it names. Imports the module."""
        return getattr(import_module(self.module), self.name)

    def __call__(self, *arguments: object) -> Any:
        """Call what it names. Imports the module."""
        return self.found()(*arguments)


def found(value: T) -> T:
    """Return ``value``, or what it names if that is in a module of this kind."""
    return cast(T, value.found()) if isinstance(value, Late) else value


class LateModule:
    """Its attributes are ``Late``: names of the module, which is not imported for that."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Late:
        return Late(self._module, name)


if TYPE_CHECKING:
    from agent import cluster, containers
else:
    cluster = LateModule("agent.cluster")
    containers = LateModule("agent.containers")

__all__ = ["Late", "LateModule", "cluster", "containers", "found"]
