"""What files of the downward API say of their pod. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from actors.volumes.content.errors import ContentMissingError, VolumeRefusedError
from actors.volumes.content.situation import VolumeSituation
from manifests.downward.amounts import amount_value
from manifests.downward.errors import UnknownAmountError
from manifests.downward.metadata import metadata_value
from manifests.texts import as_bytes
from messages.pods import JsonObject, Pod

_MAPS: Final = {"metadata.labels": "labels", "metadata.annotations": "annotations"}
_NAMED: Final = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    "\\": "\\\\",
    '"': '\\"',
}


def downward_data(situation: VolumeSituation, item: JsonObject) -> bytes:
    """Return the content of one file. Raises VolumeRefusedError and ContentMissingError."""
    if reference := item.get("fieldRef"):
        return as_bytes(_field(situation.pod, str(reference.get("fieldPath") or "")))
    if reference := item.get("resourceFieldRef"):
        try:
            text = amount_value(
                situation.pod, reference, container=None, allocatable=situation.allocatable
            )
        except UnknownAmountError as error:
            raise ContentMissingError(str(error)) from None
        return as_bytes(text)
    raise VolumeRefusedError("an item of downwardAPI names no field that is known here")


def _field(pod: Pod, path: str) -> str:
    if path in _MAPS:
        return map_lines((pod.document.get("metadata") or {}).get(_MAPS[path]) or {})
    value = metadata_value(pod, path)
    if value is None:
        raise VolumeRefusedError(f"unsupported fieldPath: {path}")
    return value


def map_lines(values: Mapping[str, str]) -> str:
    """Return labels or annotations as kubelets write them: ``key="value"``, sorted, a line each."""
    ordered = sorted(values.items(), key=lambda each: as_bytes(each[0]))
    return "\n".join(f"{key}={_in_quotes(str(value))}" for key, value in ordered)


def _in_quotes(text: str) -> str:
    """Return ``text`` as Go's programs quote it."""
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(letter: str) -> str:
    if named := _NAMED.get(letter):
        return named
    if letter.isprintable():
        return letter
    code = ord(letter)
    if code < 0x20 or code == 0x7F:
        return f"\\x{code:02x}"
    if 0xD800 <= code <= 0xDFFF:
        return "\ufffd"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
