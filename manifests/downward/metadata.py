"""What ``fieldRef`` tells of a pod's metadata. Pure."""

from __future__ import annotations

import re
from typing import Final

from messages.pods import JsonObject, Pod

_SUBSCRIPT: Final = re.compile(r"metadata\.(labels|annotations)\['(.*)'\]", re.DOTALL)


def metadata_value(pod: Pod, path: str) -> str | None:
    """Return a text of the pod's metadata; None if ``path`` names none that can be told.

    A label or an annotation that is not there is an empty text.
    """
    match path:
        case "metadata.name":
            return pod.name
        case "metadata.namespace":
            return pod.namespace
        case "metadata.uid":
            return pod.uid
        case _:
            return _subscript(pod, path)


def _subscript(pod: Pod, path: str) -> str | None:
    found = _SUBSCRIPT.fullmatch(path)
    if found is None:
        return None
    values: JsonObject = (pod.document.get("metadata") or {}).get(found[1]) or {}
    return str(values.get(found[2], ""))
