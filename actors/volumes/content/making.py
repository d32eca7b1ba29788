"""What the files of a pod's volume are, as a kubelet makes them. Pure.

- A ConfigMap or a Secret shows all its keys, or those that its ``items`` name. Without the object, or without
  a key that is named, there are no files at all, unless it is optional.
- Of several sources of a projected volume the later counts where two have one path.
- Everything that is missing is told, not only the first thing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from actors.volumes.content.downward import downward_data
from actors.volumes.content.errors import ContentMissingError, VolumeRefusedError
from actors.volumes.content.files import FilesOfVolume
from actors.volumes.content.situation import VolumeContent, VolumeSituation
from actors.volumes.content.tokens import token_of
from manifests.references.identity import object_of
from manifests.references.pods import volume_references
from messages.objects import ObjectId, ObjectKind, ObjectValue
from messages.pods import JsonObject, Pod

KINDS: Final = ("configMap", "secret", "downwardAPI", "projected")
"""The kinds of volume whose files are made here."""

_KEYS: Final = {ObjectKind.CONFIG_MAP: "config key", ObjectKind.SECRET: "secret key"}
_UNSUPPORTED: Final = ("clusterTrustBundle", "podCertificate")


def objects_shown(pod: Pod, volume: JsonObject) -> tuple[ObjectId, ...]:
    """Return each object whose keys are files of ``volume`` once, the optional ones too."""
    found = volume_references(volume)
    return tuple(dict.fromkeys(object_of(pod, each.kind, each.name) for each in found))


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
        files.put_item(item, downward_data(situation, item))


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
