"""Which handler of the runtime a pod's class means. Pure."""

from __future__ import annotations

from messages.pods import Pod
from runtimes.cri.configs.documents import spec_of
from runtimes.cri.configs.node import CriNode
from runtimes.cri.configs.refusals import not_now


def runtime_handler(pod: Pod, node: CriNode) -> str:
    """Return the handler that runs ``pod``; empty for the runtime's default one."""
    name = spec_of(pod).get("runtimeClassName")
    if not name:
        return ""
    if node.runtime_classes is None:
        raise not_now(f'RuntimeClass "{name}" is not known: the RuntimeClasses are not listed yet')
    handler = node.runtime_classes.get(str(name))
    if handler is None:
        raise not_now(f'RuntimeClass "{name}" not found')
    return handler
