"""How pods of histories read Secrets and ConfigMaps: one function for each way that a manifest has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from tests.environment.objects import KEY, LOGIN

OBJECTS: Final = (("Secret", "keys"), ("ConfigMap", "terms"), ("Secret", LOGIN))
"""The objects that pods require."""
MAYBE: Final = (("Secret", "maybe"), ("ConfigMap", "perhaps"))
"""Those that pods do without."""
DEEP: Final = "deep/under"
ROOM: Final = "room"
"""The volume that is empty at first."""


def _variable(kind: str, name: str, key: str = KEY, *, optional: bool = False) -> dict[str, Any]:
    field = f"{kind[0].lower()}{kind[1:]}KeyRef"
    source = {"name": name, "key": key, "optional": optional}
    return {"name": f"{name}_{key}".upper(), "valueFrom": {field: source}}


def _variables(kind: str, name: str, *, optional: bool = False) -> dict[str, Any]:
    field = f"{kind[0].lower()}{kind[1:]}Ref"
    return {"prefix": f"ALL_{name.upper()}_", field: {"name": name, "optional": optional}}


def _volume(kind: str, name: str, **said: Any) -> dict[str, Any]:
    if kind == "Secret":
        return {"name": f"secret-{name}", "secret": {"secretName": name, **said}}
    return {"name": f"configmap-{name}", "configMap": {"name": name, **said}}


def _mount(spec: dict[str, Any], container: dict[str, Any], volume: dict[str, Any]) -> None:
    spec.setdefault("volumes", []).append(volume)
    mounts = container.setdefault("volumeMounts", [])
    mounts.append({"name": volume["name"], "mountPath": f"/{volume['name']}"})


def _plainly(spec: dict[str, Any]) -> None:
    main = spec["containers"][0]
    main["env"] = [_variable("Secret", "keys")]
    main["envFrom"] = [_variables("ConfigMap", "terms")]
    _mount(spec, main, _volume("Secret", "keys"))
    _mount(spec, main, _volume("ConfigMap", "terms"))


def _one(spec: dict[str, Any]) -> None:
    main = spec["containers"][0]
    main["env"] = [_variable("Secret", "keys")]
    _mount(spec, main, _volume("Secret", "keys"))


def _otherwise(spec: dict[str, Any]) -> None:
    """Read in an init container too: all keys of a Secret, one of a ConfigMap, and its file elsewhere."""
    first, main = spec["initContainers"][0], spec["containers"][0]
    first["envFrom"] = [_variables("Secret", "keys")]
    first["env"] = [_variable("ConfigMap", "terms")]
    main["env"] = [_variable("ConfigMap", "terms")]
    _mount(spec, first, _volume("ConfigMap", "terms", items=[{"key": KEY, "path": DEEP}]))


def _together(spec: dict[str, Any]) -> None:
    _mount(spec, spec["containers"][0], _projected())


def _together_with_token(spec: dict[str, Any]) -> None:
    token = {"serviceAccountToken": {"path": "token", "expirationSeconds": 3600}}
    spec["serviceAccountName"] = "default"
    _mount(spec, spec["containers"][0], _projected(token))


def _projected(*more: dict[str, Any]) -> dict[str, Any]:
    labels = {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}
    sources = [
        {"secret": {"name": "keys", "items": [{"key": KEY, "path": DEEP}]}},
        {"configMap": {"name": "terms"}},
        {"secret": {"name": "maybe", "optional": True, "items": [{"key": KEY, "path": "maybe"}]}},
        {"downwardAPI": {"items": [labels]}},
        *more,
    ]
    return {"name": "all", "projected": {"sources": sources}}


def _in_parts(spec: dict[str, Any]) -> None:
    """Mount a file of a Secret alone, and a directory of a volume that is empty at first."""
    main = spec["containers"][0]
    _mount(spec, main, _volume("Secret", "keys"))
    main["volumeMounts"][-1]["subPath"] = KEY
    _mount(spec, main, {"name": ROOM, "emptyDir": {}})
    main["volumeMounts"][-1]["subPath"] = DEEP


def _if_there(spec: dict[str, Any]) -> None:
    """Read what may be missing: objects, and a key of one that is there."""
    main = spec["containers"][0]
    main["env"] = [
        _variable("Secret", "maybe", optional=True),
        _variable("Secret", "keys", "other", optional=True),
    ]
    main["envFrom"] = [_variables("ConfigMap", "perhaps", optional=True)]
    _mount(spec, main, _volume("Secret", "maybe", optional=True))


def _by_login(spec: dict[str, Any]) -> None:
    spec["imagePullSecrets"] = [{"name": LOGIN}]


READS: Final[Mapping[str, Callable[[dict[str, Any]], None]]] = {
    "plainly": _plainly,
    "one": _one,
    "otherwise": _otherwise,
    "together": _together,
    "together with a token": _together_with_token,
    "if there": _if_there,
    "in parts": _in_parts,
    "by login": _by_login,
}
"""By what a kind of pods says of it."""
WITH_TOKEN: Final = "together with a token"
"""The way in which no static pod may read."""
