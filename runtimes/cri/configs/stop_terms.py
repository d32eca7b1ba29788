"""What the annotations of a container say about its end. Pure.

A kubelet may have written them, or anybody: what a specification could not say counts as missing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from messages.pod_runtime import StopTerms
from messages.pods import JsonObject
from messages.units import Seconds
from runtimes.cri.configs import names

_HANDLERS: Final[Mapping[str, Mapping[str, tuple[type, ...]]]] = {
    "exec": {"command": (list,)},
    "httpGet": {
        "path": (str,),
        "port": (int, str),
        "host": (str,),
        "scheme": (str,),
        "httpHeaders": (list,),
    },
    "tcpSocket": {"port": (int, str), "host": (str,)},
    "sleep": {"seconds": (int,)},
}
"""The fields of each kind of handler, and what they may be."""
_NUMBER: Final = re.compile(r"[0-9]{1,10}")
NOTHING: Final = StopTerms()


def stop_terms(annotations: Mapping[str, str]) -> StopTerms | None:
    """Return what is written about a container's end; None if that is nothing."""
    pre_stop = _handler(json_of(annotations.get(names.PRE_STOP_HANDLER)))
    ports = json_of(annotations.get(names.PORTS)) if pre_stop is not None else ()
    written = StopTerms(
        grace=_grace(annotations),
        pre_stop=pre_stop,
        ports=tuple(_dicts(ports)),
        sidecar=_number(annotations.get(names.SIDECAR, "")),
    )
    return None if written == NOTHING else written


def json_of(text: str | None) -> Any:
    """Return what a text says as JSON; None if that is nothing, or no JSON."""
    try:
        return json.loads(text) if text is not None else None
    except (ValueError, RecursionError):
        return None


def _grace(annotations: Mapping[str, str]) -> Seconds | None:
    for name in (names.DELETION_GRACE, names.TERMINATION_GRACE):
        seconds = _number(annotations.get(name, ""))
        if seconds is not None:
            return Seconds(float(seconds))
    return None


def _number(written: str) -> int | None:
    return int(written) if _NUMBER.fullmatch(written) else None


def _handler(written: Any) -> JsonObject | None:
    if not isinstance(written, dict):
        return None
    for kind, fields in _HANDLERS.items():
        action = written.get(kind)
        if isinstance(action, dict):
            read = {
                name: action[name]
                for name, types in fields.items()
                if isinstance(action.get(name), types) and not isinstance(action[name], bool)
            }
            if "httpHeaders" in read:
                read["httpHeaders"] = _dicts(read["httpHeaders"])
            return {kind: read}
    return None


def _dicts(written: Any) -> list[JsonObject]:
    return [each for each in written if isinstance(each, dict)] if isinstance(written, list) else []
