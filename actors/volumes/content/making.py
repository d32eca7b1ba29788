"""What the files of a pod's volume are, as a kubelet makes them. Pure.

- A ConfigMap or a Secret shows all its keys, or those that its ``items`` name. Without the object, or without
  a key that is named, there are no files at all, unless it is optional.
- Of several sources of a projected volume the later counts where two have one path.
- Everything that is missing is told, not only the first thing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from actors.volumes.content.files import (
    ContentMissingError,
    FilesOfVolume,
    Payload,
    VolumeRefusedError,
    cleaned,
)
from manifests.defaults import TOKEN_SECONDS
from manifests.downward import UnknownAmountError, amount_value, metadata_value
from manifests.references import object_of, volume_references
from manifests.texts import as_bytes
from messages.objects import ObjectId, ObjectKind, ObjectValue
from messages.pods import JsonObject, Pod
from messages.tokens import TokenNeeded

KINDS: Final = ("configMap", "secret", "downwardAPI", "projected")
"""The kinds of volume whose files are made here."""

_KEYS: Final = {ObjectKind.CONFIG_MAP: "config key", ObjectKind.SECRET: "secret key"}
_UNSUPPORTED: Final = ("clusterTrustBundle", "podCertificate")
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


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeSituation:
    """Everything that the files of a volume depend on, beside the volume itself."""

    pod: Pod
    """As it is now: its labels, its annotations and its resources are shown."""
    objects: Mapping[ObjectId, ObjectValue] = field(default_factory=dict, repr=False)
    """Secrets and ConfigMaps, as far as they are there."""
    unread: Mapping[ObjectId, str] = field(default_factory=dict)
    """Why others cannot be read: nobody knows whether these are there."""
    allocatable: Mapping[str, str] | None = None
    """What the node has for pods, as quantities. None where nobody can know it."""
    tokens: Mapping[TokenNeeded, bytes] = field(default_factory=dict, repr=False)
    """The tokens that are there."""
    token_troubles: Mapping[TokenNeeded, str] = field(default_factory=dict)
    """Why others are not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeContent:
    """The files of a volume, or why it cannot have them. Exactly one of the three is set."""

    payload: Payload | None = None
    missing: tuple[str, ...] = ()
    """What is not there, in a kubelet's words. It may come: until then the volume stays as it is."""
    refusal: str = ""
    """Why there never are any, as the volume is written."""

    @property
    def trouble(self) -> str:
        """Return why there are no files, as an event says it; empty if there are."""
        if self.refusal or len(self.missing) == 1:
            return self.refusal or self.missing[0]
        return f"[{', '.join(self.missing)}]" if self.missing else ""


def objects_shown(pod: Pod, volume: JsonObject) -> tuple[ObjectId, ...]:
    """Return each object whose keys are files of ``volume`` once, the optional ones too."""
    found = volume_references(volume)
    return tuple(dict.fromkeys(object_of(pod, each.kind, each.name) for each in found))


def token_of(source: JsonObject) -> TokenNeeded:
    """Return what a ``serviceAccountToken`` asks for. Raises VolumeRefusedError."""
    seconds = source.get("expirationSeconds")
    if seconds is None:
        seconds = TOKEN_SECONDS
    if not isinstance(seconds, int) or isinstance(seconds, bool) or seconds <= 0:
        raise VolumeRefusedError("serviceAccountToken: expirationSeconds must be a number above 0")
    return TokenNeeded(
        audience=str(source.get("audience") or ""),
        expiration_seconds=seconds,
        path=cleaned(str(source.get("path") or "")),
    )


def tokens_of(volume: JsonObject) -> tuple[TokenNeeded, ...]:
    """Return the tokens that ``volume`` shows: none for one that is refused."""
    try:
        return tuple(_tokens(volume))
    except VolumeRefusedError:
        return ()


def _tokens(volume: JsonObject) -> Iterator[TokenNeeded]:
    for source in (volume.get("projected") or {}).get("sources") or ():
        if source.get("serviceAccountToken") is not None:
            yield token_of(source["serviceAccountToken"])


def volume_content(volume: JsonObject, situation: VolumeSituation) -> VolumeContent:
    """Return the files of ``volume``, or why there are none."""
    kind = next((each for each in KINDS if volume.get(each) is not None), "")
    if not kind:
        return VolumeContent(refusal=f"it is of none of the kinds {', '.join(KINDS)}")
    source: JsonObject = volume[kind]
    try:
        files = FilesOfVolume(situation.pod, source)
        missing = list(_missing(files, situation, _sources(kind, source)))
        return _made(files) if not missing else VolumeContent(missing=tuple(missing))
    except VolumeRefusedError as error:
        return VolumeContent(refusal=str(error))


def _made(files: FilesOfVolume) -> VolumeContent:
    try:
        return VolumeContent(payload=files.payload())
    except ContentMissingError as error:
        return VolumeContent(missing=(str(error),))


def _sources(kind: str, source: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    """Yield what is projected, each with its kind. A volume of one kind is a projection of that alone."""
    if kind != "projected":
        yield kind, source
        return
    for each in source.get("sources") or ():
        for named in _UNSUPPORTED:
            if each.get(named) is not None:
                raise VolumeRefusedError(f"a projected {named} is not supported")
        yield from ((named, each[named]) for named in _PUTTING if each.get(named) is not None)


def _missing(
    files: FilesOfVolume, situation: VolumeSituation, sources: Iterator[tuple[str, JsonObject]]
) -> Iterator[str]:
    """Put the files of all ``sources``, and yield what is missing."""
    for kind, source in sources:
        try:
            _PUTTING[kind](files, situation, source)
        except ContentMissingError as error:
            yield str(error)


def _put_config_map(files: FilesOfVolume, situation: VolumeSituation, source: JsonObject) -> None:
    _put_object(files, situation, source, ObjectKind.CONFIG_MAP)


def _put_secret(files: FilesOfVolume, situation: VolumeSituation, source: JsonObject) -> None:
    _put_object(files, situation, source, ObjectKind.SECRET)


def _put_object(
    files: FilesOfVolume, situation: VolumeSituation, source: JsonObject, kind: ObjectKind
) -> None:
    # A Secret's name has one field in a volume, and another one in a projection.
    name = str(source.get("secretName") or source.get("name") or "")
    whose = f'{kind.lower()} "{name}"'
    if not name:
        raise VolumeRefusedError(f"a {kind} is shown that is not named")
    found = _found(situation, object_of(situation.pod, kind, name), whose, source)
    data = found.data if found is not None else {}
    items = source.get("items")
    if not items:
        for key, value in data.items():
            files.put_key(key, value)
        return
    for item in items:
        key = str(item.get("key") or "")
        if key in data:
            files.put_item(item, data[key])
        elif not _is_optional(source):
            raise ContentMissingError(f"{whose} references non-existent {_KEYS[kind]}: {key}")


def _found(
    situation: VolumeSituation, wanted: ObjectId, whose: str, source: JsonObject
) -> ObjectValue | None:
    found = situation.objects.get(wanted)
    if found is not None:
        return found
    if wanted in situation.unread:  # even an optional one may be there
        raise ContentMissingError(f"{whose} {situation.unread[wanted]}")
    if not _is_optional(source):
        raise ContentMissingError(f"{whose} not found")
    return None


def _put_downward(files: FilesOfVolume, situation: VolumeSituation, source: JsonObject) -> None:
    for item in source.get("items") or ():
        files.put_item(item, _downward_data(situation, item))


def _put_token(files: FilesOfVolume, situation: VolumeSituation, source: JsonObject) -> None:
    needed = token_of(source)
    token = situation.tokens.get(needed)
    if token is None:
        why = situation.token_troubles.get(needed, "it is not there yet")
        raise ContentMissingError(f"failed to fetch token: {why}")
    files.put_token(needed.path, token)


def _is_optional(source: JsonObject) -> bool:
    return source.get("optional") is True


_PUTTING: Final[Mapping[str, Callable[[FilesOfVolume, VolumeSituation, JsonObject], None]]] = {
    "configMap": _put_config_map,
    "secret": _put_secret,
    "downwardAPI": _put_downward,
    "serviceAccountToken": _put_token,
}


# --- the downward API --------------------------------------------------------------------------------


def _downward_data(situation: VolumeSituation, item: JsonObject) -> bytes:
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
