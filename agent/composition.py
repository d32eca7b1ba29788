"""What the actors of one agent are made from, and how each of them finds the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from random import Random
from typing import Any, Final, NamedTuple, TypeVar, cast

from actors.node.machine import LinuxMachine, Machine
from agent.edges import Edges, ProcessEdges
from agent.process import LastCalls
from kernel import ActorSystem, Address, Key, Level, Port
from messages.cluster import ClusterServices, RuntimeClasses, RuntimeHandlers, ServicesIn
from messages.container_runtime import AskContainer
from messages.objects import HeldObject, ObjectId, ObjectKind
from messages.pod_runtime import PodRuntimeMessage
from server.actor import Listeners
from server.questions import Question
from settings.agent import Settings
from settings.runtime import RuntimeSettings

M = TypeVar("M")
V = TypeVar("V")

RUNTIME: Final = Key[PodRuntimeMessage]("runtime")
"""The actor that runs the pods: each runtime has its own."""
CONTAINERS: Final = Key[AskContainer]("runtime/containers")
"""The actor that runs their containers, in the same way."""


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


def found(value: V) -> V:
    """Return ``value``, or what it names if that is in a module of this kind."""
    return cast(V, value.found()) if isinstance(value, Late) else value


class LateModule:
    """Its attributes are ``Late``: names of the module, which is not imported for that."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Late:
        return Late(self._module, name)


class Composition:
    """One agent: its settings, its edges, the addresses of its actors, and what several of them share.

    ``address`` and ``system`` work once there is a system, which is made from the specs.
    """

    def __init__(
        self,
        settings: Settings,
        address: Address,
        system: Callable[[], ActorSystem],
        edges: Edges,
        listeners: Listeners,
    ) -> None:
        self.settings = settings
        self.edges = edges
        self.listeners = listeners
        self.process = edges.process or ProcessEdges()
        self.system = system
        self.address = address
        self.machine = self.own_machine = edges.machine or _this_machine(settings)
        """The machine as the Node shows it, and the one that the agent runs on."""
        self.objects: Mapping[ObjectKind, Level[ObjectId, HeldObject]] = {
            kind: Level() for kind in ObjectKind
        }
        """What is known of Secrets and ConfigMaps."""
        self.services: Level[ServicesIn, ClusterServices | None] = Level()
        """What pods are told of the Services of the cluster."""
        self.runtime_classes: Level[RuntimeClasses, RuntimeHandlers] = Level()
        self.last_calls = LastCalls()
        self.chance = Random()  # noqa: S311  # guards nothing
        """Spreads restarts and requests over time."""
        self._keys: dict[object, Key[Any]] = {}
        self._answering: dict[Question[Any], Key[Any]] = {}
        self._shared: dict[object, object] = {}

    @property
    def runtime(self) -> RuntimeSettings:
        """What the settings say of the runtime."""
        return self.settings.runtime

    def expect(self, key: Key[Any], name: object, answers: Iterable[Question[Any]] = ()) -> None:
        """Note that the agent has an actor of this key, its name in the table, and what it answers."""
        self._keys[key] = self._keys[name] = key
        self._answering.update(dict.fromkeys(answers, key))

    def has(self, key: Key[M]) -> bool:
        """Return whether the agent has an actor of this key."""
        return key in self._keys

    def port(self, key: Key[M]) -> Port[M]:
        """Return the address of an actor, which need not run yet."""
        # The first key that is used of a path decides how its mailbox coalesces: it is that of the table.
        return self.address(self._keys.get(key, key))

    def port_if_any(self, key: Key[M]) -> Port[M] | None:
        """Return the address of an actor; None if the agent has no such actor."""
        return self.port(key) if self.has(key) else None

    def answering(self) -> dict[Question[Any], Port[Any]]:
        """Return the address of who answers each question."""
        return {question: self.port(key) for question, key in self._answering.items()}

    def shared(self, make: Callable[[Composition], V]) -> V:
        """Return what ``make`` returns for this agent: made once, when the first actor needs it."""
        make = found(make)
        if make not in self._shared:
            self._shared[make] = make(self)
        return cast(V, self._shared[make])

    def share(self, make: Callable[[Composition], V], value: V) -> None:
        """Put ``value`` in the place of what ``make`` would return."""
        self._shared[found(make)] = value


def _this_machine(settings: Settings) -> Machine:
    cluster = settings.cluster
    return LinuxMachine(
        root_dir=settings.root_dir, node_ips=cluster.node_ips if cluster is not None else ()
    )
