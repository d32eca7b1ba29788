"""What somebody writes who runs pods as something else: a class with ``run``, ``stop`` and ``observe``.

``docs/writing-a-runtime.md`` is the guide, and ``examples/virtual_node.py`` a whole class. The agent is
started with ``--runtime MODULE:CLASS``. It makes one object of the class, without arguments, and calls it
on threads of its own. Everything that the class may rely on is said in ``PodProvider``.
People import these names from ``actorlet``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Protocol, TypeAlias

from manifests.references import object_of
from messages.objects import ObjectId, ObjectKind, ObjectValue
from messages.pods import JsonObject, Pod
from runtimes.environment.assembling import environment_of
from runtimes.environment.objects import Environment, EnvironmentSituation, named_values

Resolve: TypeAlias = Callable[[Pod, str, str], Mapping[str, bytes]]
"""Returns the values of an object of the pod's namespace, by kind and name. Raises LookupError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerReport:
    """How one container is. Without arguments: it runs, and is ready."""

    state: str = ""
    """``waiting``, ``running`` or ``terminated``. Empty: terminated if it has an exit code, else running."""
    exit_code: int | None = None
    """128 + n if signal n ended it."""
    ready: bool = True
    """Whether it can serve; counts while it runs."""
    restarts: int = 0
    """How often it was started again. Never falls, and grows by at least one when it runs again."""
    reason: str = ""
    """One word in CamelCase: ``ImagePullBackOff``, ``OOMKilled``, ... Empty: the usual one of its state."""
    message: str = ""
    """For people; cut at 4 kB."""
    started_at: float | None = None
    """Seconds since the Unix epoch. None: when it was seen first."""
    finished_at: float | None = None
    """The same of its end."""


@dataclass(frozen=True, slots=True)
class PodReport:
    """How one pod is: ``PodReport("Running")`` says that all its containers run, and are ready."""

    phase: str = ""
    """``Pending``, ``Running``, ``Succeeded`` or ``Failed``; it never goes back. Empty: what follows from the
    containers, and ``Running`` if none are given. Those that are not given are as the phase says."""
    _: KW_ONLY
    containers: Mapping[str, ContainerReport] = field(default_factory=dict)
    """By the names in the pod's specification, init containers too."""
    ip: str = ""
    reason: str = ""
    """Why it is not as it should be, in one word; with ``Failed`` it becomes ``status.reason``."""
    message: str = ""
    """The same for people."""
    namespace: str = ""
    """Only of pods that may outlive the agent: whose this is, if nobody but the provider knows any more."""
    name: str = ""
    source: str = ""
    """``pod.source`` of such a pod."""


PodReports: TypeAlias = Mapping[str, PodReport | str]
"""By UID. A phase alone may stand for ``PodReport(phase)``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeReport:
    """What the Node says of itself. What is empty here is as it is on this machine."""

    capacity: Mapping[str, str] = field(default_factory=dict)
    """Quantities, as in a Node: ``{"cpu": "64", "memory": "256Gi", "pods": "500"}``."""
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: Sequence[Mapping[str, str]] | None = None
    """With which the Node is created, as in a Node: ``[{"key": "example.com/gpu", "effect": "NoSchedule"}]``.
    None: ``actorlet/virtual:NoSchedule``, so that only pods come that tolerate that."""
    addresses: Sequence[str] = ()
    """IP addresses, the most important one first."""
    conditions: Mapping[str, str] = field(default_factory=dict)
    """Troubles by the type of their condition: ``{"Ready": "the service does not answer"}``. A condition
    of the Node that is named here is bad, and the text says why."""


class ProviderContext(Protocol):
    """What the agent gives to a provider. Every method may be called on any thread."""

    def changed(self) -> None:
        """Have ``observe`` called soon, instead of up to a second later."""
        ...

    def resolve(self, pod: Pod, kind: str, name: str) -> Mapping[str, bytes]:
        """Return the values of a Secret or ConfigMap that the environment of a pod's containers uses."""
        ...


class UnreadObjectError(LookupError):
    """An object cannot be read at present. Nobody knows whether it exists."""


def environment_with(pod: Pod, container: JsonObject, resolve: Resolve) -> Environment:
    """Return the environment of ``container``. Raises LookupError for what is missing, without any value.

    The pod's addresses and what the node has are not known here: a provider has its own.
    """
    objects: dict[ObjectId, ObjectValue] = {}
    for needed in named_values(container):
        wanted = object_of(pod, needed.kind, needed.name)
        try:
            objects[wanted] = _value(needed.kind, resolve(pod, needed.kind.value, needed.name))
        except UnreadObjectError:
            raise  # even an optional one may be there
        except LookupError:
            continue  # whether it may be missing is decided where it is used
    made = environment_of(EnvironmentSituation(pod=pod, container=container, objects=objects))
    if made.failure:
        raise LookupError(made.failure)
    return made


def _value(kind: ObjectKind, data: Mapping[str, bytes]) -> ObjectValue:
    binary = frozenset[str]()
    if kind is ObjectKind.CONFIG_MAP:
        binary = frozenset(key for key, value in data.items() if not _is_text(value))
    return ObjectValue(uid="", resource_version="", data=data, binary_keys=binary)


def _is_text(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


class PodProvider(ABC):
    """Runs pods as something else. Derive from it, or write any class with the same methods.

    ``run``, ``stop`` and ``observe`` are required; the others are optional. Each may be ``async``.

    Threads: the agent calls from several threads, for several pods at the same time. Calls about one pod
    come one after another, with one exception: ``stop`` comes again, while an earlier one has not
    returned, if the pod has less time than was said then. Async methods run on one event loop, always the
    same one, which nothing else may block.

    Deadlines: a call has 30 s, and ``stop`` has its grace in addition. One that takes longer is given up:
    the agent says so, goes on, and makes no other ``run`` for this pod before it has returned. An async
    one is cancelled.

    Exceptions: the pod gets an event with the text, and the call is repeated, after 1 s, then 2 s, 4 s,
    and so on up to a minute. Values of Secrets that the pod references are cut out of the text.

    Restarts: when the agent restarts, it makes a new object and asks ``observe`` first. A pod that
    ``observe`` tells is not run again. The pods themselves should outlive the agent, as containers do.
    """

    _context: ProviderContext | None = None
    makes_volumes: bool = False
    """Whether the class makes the volumes of its pods. If not, a pod that has any says that it lacks them."""

    @abstractmethod
    def run(self, pod: Pod) -> Awaitable[None] | None:
        """Begin to run ``pod``, and return. What becomes of it is told by ``observe``.

        It is called again for a pod that ``observe`` does not tell, since an earlier call failed or its
        pod got lost. So make nothing twice: the UID names the pod for all its life.
        """

    @abstractmethod
    def stop(self, pod: Pod, grace: float) -> Awaitable[None] | None:
        """Begin to stop ``pod``, so that it is gone within ``grace`` seconds; waiting for it is allowed.

        It is called for each pod that is not to be any more, also for one that ended by itself, and may
        come again. After an agent's restart ``pod`` may have nothing but its UID, namespace and name.
        """

    @abstractmethod
    def observe(self) -> PodReports | Awaitable[PodReports]:
        """Return how all pods are, by UID: those that are missing are not there.

        Called each second, after each ``run`` and ``stop``, and after ``changed``. A pod that has ended
        is told as Succeeded or Failed until it is stopped or forgotten.
        """

    def node(self) -> NodeReport | Awaitable[NodeReport]:
        """Return what the Node says of itself. Called at the start, and every 10 s."""
        return NodeReport()

    def update(self, pod: Pod) -> Awaitable[None] | None:  # noqa: B027  # who has none need not
        """Take the changed specification of a pod that runs.

        A class without this method runs the pod on as it was. The pod says so.
        """

    def forget(self, pod: Pod) -> Awaitable[None] | None:  # noqa: B027  # the same
        """Remove what is left of a pod that was stopped. After it its UID may be run anew."""

    def attach(self, context: ProviderContext) -> None:
        """Take what the agent gives, once, before every other call. Not async."""
        self._context = context

    # What a class that is derived from this one may use.

    def changed(self) -> None:
        """Tell the agent that something has changed, from any thread: it calls ``observe`` soon."""
        if self._context is not None:
            self._context.changed()

    def resolve(self, pod: Pod, kind: str, name: str) -> Mapping[str, bytes]:
        """Return the values of a ``Secret`` or ``ConfigMap`` that the environment of ``pod`` uses.

        Raises LookupError while there is none.
        """
        if self._context is None:
            raise LookupError(f"{kind} {pod.namespace}/{name} is not there")
        return self._context.resolve(pod, kind, name)

    def environment(self, pod: Pod, container: JsonObject) -> dict[str, str]:
        """Return the variables of a container, with those from Secrets, ConfigMaps and the pod's fields.

        Bytes that are no UTF-8 are in them as in ``os.environ``, by ``surrogateescape``. Raises LookupError
        while something is missing that is not optional, and for what only a node with containers could know.
        """
        return dict(environment_with(pod, container, self.resolve).variables)

    def command(self, pod: Pod, container: JsonObject) -> list[str]:
        """Return ``command`` and ``args`` of a container, with ``$(NAME)`` replaced. Raises as above.

        It is empty for a container without ``command``: only its image could say what to run.
        """
        made = environment_with(pod, container, self.resolve)
        return [*made.command, *made.args] if made.command else []
