"""How the runtime is and what it runs: in a kubelet's words for the Node, and in answers to actors. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Final

from messages.container_runtime import SandboxContents
from messages.container_runtime_health import ContainerRuntimeDescribed, DescribeContainerRuntime
from messages.node import RuntimeHasNews
from messages.pod_runtime import (
    ContainerState,
    DescribeRuntime,
    RuntimeDescribed,
    RuntimeNode,
    RuntimePod,
    SandboxState,
)
from messages.pods import PodUid
from messages.units import Seconds, Timestamp
from runtimes.cri.figures import LONGEST_SILENCE
from runtimes.cri.messages import NOT_ASKED, CriMemory, CriPorts

LONGEST_OUTAGE: Final = Seconds(30.0)
"""A runtime that was there may be away for so long before the Node is not ready, as on a kubelet. One that is
upgraded is back in seconds, and what runs goes on meanwhile: the Node should not be tainted for that."""
NOT_READY: Final = "KubeletNotReady"
"""The reason of the Node's condition Ready that a kubelet gives for every trouble."""


def container_states(everything: Iterable[SandboxContents]) -> Mapping[ContainerState, int]:
    """Return how many containers there are in each state."""
    return Counter(one.state for each in everything for one in each.containers)


def runtime_pods(everything: Iterable[SandboxContents]) -> tuple[RuntimePod, ...]:
    """Return the pods that sandboxes belong to. Those of one pod have to stand together, the newest first."""
    return tuple(
        _runtime_pod(uid, tuple(sandboxes))
        for uid, sandboxes in groupby(everything, lambda each: each.pod.uid)
    )


def _runtime_pod(uid: PodUid, sandboxes: tuple[SandboxContents, ...]) -> RuntimePod:
    owner = sandboxes[0].pod
    states = container_states(sandboxes)
    is_ready = any(each.sandbox.state is SandboxState.READY for each in sandboxes)
    return RuntimePod(
        uid=uid,
        namespace=owner.namespace,
        name=owner.name,
        source=owner.source,
        is_running=is_ready or bool(states[ContainerState.RUNNING]),
        started_at=min(each.sandbox.created_at for each in sandboxes),
        running_containers=states[ContainerState.RUNNING],
    )


def node_of(memory: CriMemory) -> RuntimeNode:
    """Return what the runtime says of the Node."""
    trouble = trouble_of(memory)
    greeting = memory.greeting
    version = "" if greeting is None else f"{greeting.name}://{greeting.version}"
    return RuntimeNode(
        troubles={"Ready": trouble} if trouble else {}, trouble_reason=NOT_READY, version=version
    )


def trouble_of(memory: CriMemory) -> str:
    """Return why the Node is not ready, as far as that is the runtime's fault; empty if it is not."""
    found = [text for text in _troubles(memory) if text]
    return found[0] if len(found) == 1 else f"[{', '.join(found)}]" if found else ""


def _troubles(memory: CriMemory) -> tuple[str, ...]:
    if memory.away == NOT_ASKED:
        down = "container runtime status check may not have completed yet"
    elif memory.away and (memory.is_down or memory.greeting is None):
        down = f"container runtime is down: {memory.away}"
    else:
        down = ""
    greeting = memory.greeting
    if down or greeting is None:
        return down, memory.pleg_trouble
    return greeting.trouble, memory.pleg_trouble, greeting.network_trouble


def note_outage(memory: CriMemory, now: Seconds) -> None:
    """Note since when the runtime has been away, and whether that is an outage for the Node too."""
    is_away = memory.away not in {"", NOT_ASKED}
    if not is_away:
        memory.away_since = None
    elif memory.away_since is None:
        memory.away_since = now
    since = memory.away_since
    memory.is_down = since is not None and now - since >= LONGEST_OUTAGE


def pleg_trouble(silence: Seconds, *, has_looked: bool) -> str:
    """Return what is wrong if everything was looked at for the last time so long ago; empty if nothing is."""
    if silence <= LONGEST_SILENCE:
        return ""
    seen = f"pleg was last seen active {_ago(silence)} ago" if has_looked else _NEVER
    return f"PLEG is not healthy: {seen}; threshold is {_ago(LONGEST_SILENCE)}"


_NEVER: Final = "pleg has yet to be successful"


def _ago(silence: Seconds) -> str:
    minutes, seconds = divmod(round(silence), 60)
    return f"{minutes}m{seconds}s"


class HealthReporter:
    """Notes what shows how the runtime is. A part of its actor, whose memory it changes."""

    def __init__(self, memory: CriMemory, ports: CriPorts) -> None:
        self._memory = memory
        self._ports = ports

    def begin(self, now: Seconds) -> None:
        """Count the time from now on, unless an earlier life has begun that."""
        if self._memory.pleg.since is None:
            self._memory.pleg.since = now

    def note_look(self, began: Seconds, now: Seconds, wall: Timestamp) -> None:
        """Take that everything was looked at."""
        self._memory.pleg.note_look(began, now, wall)
        if self._memory.open_stream is not None:
            self._memory.pleg.note_stream(self._memory.stream)
        self._memory.pleg_trouble = ""

    def examine(self, now: Seconds) -> None:
        """Count the calls, and see whether everything was looked at lately."""
        memory = self._memory
        memory.calls.count()
        memory.cgroups.count()
        has_looked = memory.pleg.looked is not None
        memory.pleg_trouble = pleg_trouble(memory.pleg.silence(now), has_looked=has_looked)
        self.tell_node(now)

    @property
    def is_well(self) -> bool:
        """Whether nothing is bad about the Node because of the runtime, nor is about to be."""
        return not (trouble_of(self._memory) or self._memory.away)

    def tell_node(self, now: Seconds) -> None:
        """Show what is bad, and tell who reports the Node if that is something else.

        The rest of a text may change too often.
        """
        note_outage(self._memory, now)
        self._memory.shown_node.replace(node_of(self._memory))
        trouble = trouble_of(self._memory).partition(":")[0]
        if trouble != self._memory.told_trouble:
            self._memory.told_trouble = trouble
            if self._ports.node is not None:
                self._ports.node.tell(RuntimeHasNews())

    def answer(self, question: DescribeRuntime | DescribeContainerRuntime, now: Seconds) -> None:
        """Tell who asks how the runtime is."""
        if isinstance(question, DescribeRuntime):
            question.reply_to.tell(self.described())
        else:
            question.reply_to.tell(self.described_in_full(now))

    def described(self) -> RuntimeDescribed:
        """Return how the runtime is, and what it runs."""
        greeting, everything = self._memory.greeting, self._memory.inventory.everything()
        return RuntimeDescribed(
            name=greeting.name if greeting is not None else "",
            version=greeting.version if greeting is not None else "",
            trouble=self._memory.away,
            pods=runtime_pods(everything),
            containers=container_states(everything),
        )

    def described_in_full(self, now: Seconds) -> ContainerRuntimeDescribed:
        """Return how the runtime is, with all that was counted."""
        memory, greeting = self._memory, self._memory.greeting
        return ContainerRuntimeDescribed(
            name=greeting.name if greeting is not None else "",
            version=greeting.version if greeting is not None else "",
            endpoint=self._ports.endpoint(),
            trouble=memory.away or (greeting.trouble if greeting is not None else ""),
            network_trouble=greeting.network_trouble if greeting is not None else "",
            pleg=memory.pleg.described(now),
            operations=memory.calls.described(),
            cgroups=memory.cgroups.described(),
        )
