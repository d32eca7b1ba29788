"""What a container's environment depends on, what is made of it, and why it cannot be made. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from typing_extensions import override

from manifests.texts import as_bytes
from messages.cluster import ClusterService
from messages.objects import ObjectId, ObjectKind, ObjectValue
from messages.pods import JsonObject, Pod


class UnusableEnvironmentError(Exception):
    """The environment cannot be made now. The text says why, in a kubelet's words, without any value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentSituation:
    """Everything that the environment of one container depends on."""

    pod: Pod
    container: JsonObject = field(repr=False)
    """The container of the pod's specification."""
    objects: Mapping[ObjectId, ObjectValue] = field(default_factory=dict, repr=False)
    """Secrets and ConfigMaps, as far as they are there."""
    pod_ips: Sequence[str] | None = None
    """The addresses of its sandbox, the first one of the primary family. A pod in the node's own network
    has none there: the node's are its own. None where nobody can know them."""
    host_ips: Sequence[str] | None = None
    """The node's addresses, in the same order. None where nobody can know them."""
    allocatable: Mapping[str, str] | None = None
    """What the node has for pods, as quantities. None where nobody can know it."""
    services: Sequence[ClusterService] = ()
    """The Services of the pod's namespace, and ``kubernetes`` in ``default``. Others are left out."""


class SkippedNames(NamedTuple):
    """Keys of one object that no variable can have as its name."""

    kind: ObjectKind
    object_name: str
    """``<namespace>/<name>``."""
    names: tuple[str, ...]

    @property
    def message(self) -> str:
        """Return what a kubelet's event InvalidEnvironmentVariableNames says."""
        kind = "secret" if self.kind is ObjectKind.SECRET else "configMap"
        names = ", ".join(each if each.isprintable() else ascii(each) for each in self.names)
        return (
            f"Keys [{names}] from the EnvFrom {kind} {self.object_name} were skipped since they are"
            " considered invalid environment variable names."
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Environment:
    """What a container is started with. The ``repr`` shows no value."""

    variables: Mapping[str, str] = field(default_factory=dict)
    """In order. Bytes that are no UTF-8 are in them as in ``os.environ``, by ``surrogateescape``."""
    command: tuple[str, ...] = ()
    """Empty for the image's."""
    args: tuple[str, ...] = ()
    """Empty for the image's, unless there is a command."""
    skipped: tuple[SkippedNames, ...] = ()
    failure: str = ""
    """Why it cannot be made, in a kubelet's words: the message of a CreateContainerConfigError. Everything
    else is empty then. Empty if nothing is wrong."""

    def encoded(self) -> Iterator[tuple[str, bytes]]:
        """Yield the variables as a process gets them, in order."""
        for name, value in self.variables.items():
            yield name, as_bytes(value)

    @override
    def __repr__(self) -> str:
        return f"Environment(names={list(self.variables)!r}, failure={self.failure!r})"
