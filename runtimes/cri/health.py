"""How the runtime is, in a kubelet's words. Pure."""

from __future__ import annotations

from typing import Final

from messages.pod_runtime import RuntimeNode
from messages.units import Seconds
from runtimes.cri.figures import LONGEST_SILENCE
from runtimes.cri.messages import NOT_ASKED, CriMemory

LONGEST_OUTAGE: Final = Seconds(30.0)
"""A runtime that was there may be away for so long before the Node is not ready, as on a kubelet. One that is
upgraded is back in seconds, and what runs goes on meanwhile: the Node should not be tainted for that."""
NOT_READY: Final = "KubeletNotReady"
"""The reason of the Node's condition Ready that a kubelet gives for every trouble."""


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
