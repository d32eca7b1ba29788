"""What is known of a pod that may not run as it should, and what it is told as. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from manifests.times import rfc3339
from messages.events import NotedEvent
from messages.pods import JsonObject
from messages.units import Timestamp

_IN_CONTAINER: Final = re.compile(
    r"spec\.(?:initContainers|containers|ephemeralContainers)\{(.+)\}"
)


@dataclass(frozen=True, slots=True)
class PodReason:
    """One cause, in a sentence without its full stop."""

    text: str
    advice: str = ""
    """What to do about it, where that is known: a sentence, too."""
    at: Timestamp | None = None
    """When that comes which ``text`` ends with. Readers put behind it how long that is from now."""

    def document(self) -> JsonObject:
        """Return it as endpoints tell it."""
        at = {} if self.at is None else {"at": rfc3339(self.at)}
        return {"text": self.text, "advice": self.advice, **at}


@dataclass(frozen=True, slots=True, kw_only=True)
class PodCase:
    """What is known of one pod."""

    pod: JsonObject
    """Its document, with its status."""
    events: Sequence[NotedEvent] = ()
    """What is remembered of it, the oldest first."""
    manifests: Sequence[JsonObject] = ()
    """The verdicts on its manifests, as ``/sourcez`` has them: the one that is served first."""
    runtime_trouble: str = ""
    """Why no container can be started; empty if they can."""
    objects: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """What is wrong with the objects that it references, by kind and name, in the words of a container that
    lacks one: ``not found``."""
    is_local: bool = False
    """Whether its Secrets and ConfigMaps are those of files."""

    @property
    def status(self) -> JsonObject:
        """Its status."""
        return self.pod.get("status") or {}

    @property
    def spec(self) -> JsonObject:
        """What it should be."""
        return self.pod.get("spec") or {}

    @property
    def namespace(self) -> str:
        """The namespace in which its objects are."""
        return str((self.pod.get("metadata") or {}).get("namespace") or "default")

    @property
    def is_on_host_network(self) -> bool:
        """Whether it needs no network of its own."""
        return bool(self.spec.get("hostNetwork"))

    @property
    def conditions(self) -> Sequence[JsonObject]:
        """The conditions of its status."""
        return self.status.get("conditions") or ()

    @property
    def is_ready(self) -> bool:
        """Whether its condition says so."""
        return any(
            each.get("type") == "Ready" and each.get("status") == "True" for each in self.conditions
        )

    def containers(self) -> Iterator[ShownContainer]:
        """Yield the status of each container, in the order in which they start."""
        for kind, statuses, group in (
            ("init container", "initContainerStatuses", "initContainers"),
            ("container", "containerStatuses", "containers"),
            ("ephemeral container", "ephemeralContainerStatuses", "ephemeralContainers"),
        ):
            specs = {each.get("name"): each for each in self.spec.get(group) or ()}
            for each in self.status.get(statuses) or ():
                spec = specs.get(each.get("name")) or {}
                is_sidecar = group == "initContainers" and spec.get("restartPolicy") == "Always"
                yield ShownContainer("sidecar" if is_sidecar else kind, each, spec)

    def last_event(self, container: str, *reasons: str, begins: str = "") -> NotedEvent | None:
        """Return the last event of a container, or of the pod if that is empty, of one of these reasons."""
        for each in reversed(self.events):
            found = _IN_CONTAINER.fullmatch(each.field_path)
            about = found.group(1) if found else ""
            if about == container and each.reason in reasons and each.message.startswith(begins):
                return each
        return None


class ShownContainer(NamedTuple):
    """A container as the status shows it."""

    kind: str
    status: JsonObject
    spec: JsonObject

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.status.get("name") or "")

    @property
    def who(self) -> str:
        """Its kind and name, in the middle of a sentence."""
        return f"{self.kind} {self.name}"

    @property
    def waiting(self) -> Mapping[str, Any]:
        """Why it waits; empty if it does not."""
        return (self.status.get("state") or {}).get("waiting") or {}

    @property
    def running(self) -> Mapping[str, Any]:
        """Since when it runs; empty if it does not."""
        return (self.status.get("state") or {}).get("running") or {}

    @property
    def ended(self) -> Mapping[str, Any]:
        """How it has ended; empty if it has not."""
        return (self.status.get("state") or {}).get("terminated") or {}

    @property
    def last(self) -> Mapping[str, Any]:
        """How the instance before has ended; empty if there was none."""
        return (self.status.get("lastState") or {}).get("terminated") or {}


def sentence(text: str) -> str:
    """Return ``text`` with its first letter in upper case."""
    return text[:1].upper() + text[1:]
