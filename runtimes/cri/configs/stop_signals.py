"""The signal that a container says it is stopped by. Pure."""

from __future__ import annotations

from messages.pods import JsonObject
from runtimes.cri.configs.refusals import ConfigRefusedError
from runtimes.cri.wire import cri_pb2 as cri


def stop_signal(container: JsonObject) -> str:
    """Return the name of the signal. Without ``lifecycle.stopSignal`` image and runtime decide."""
    name = (container.get("lifecycle") or {}).get("stopSignal")
    if not name:
        return "SIGNAL_RUNTIME_DEFAULT"
    word = str(name).replace("+", "PLUS").replace("-", "MINUS")
    if not word.startswith("SIG") or word not in cri.Signal.keys():  # noqa: SIM118
        raise ConfigRefusedError(f"lifecycle.stopSignal {str(name)[:20]!r} is not known")
    return word
