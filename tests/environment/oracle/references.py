"""Which Secrets and ConfigMaps a pod names, by its manifest. A form that is not known here is an error."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from messages.pods import JsonObject, Pod

SECRET, CONFIG_MAP = "Secret", "ConfigMap"
WITHOUT_OBJECTS: Final = frozenset(
    {"emptyDir", "hostPath", "downwardAPI", "serviceAccountToken", "fieldRef", "resourceFieldRef"}
)
"""Volumes, and sources of them and of variables, that show no object."""
Form: TypeAlias = Mapping[str, tuple[str, str]]
VARIABLE: Final[Form] = {
    "secretKeyRef": (SECRET, "name"),
    "configMapKeyRef": (CONFIG_MAP, "name"),
}
"""By the field of a form: the kind of its object, and which of its fields has the name."""
VARIABLES: Final[Form] = {"secretRef": (SECRET, "name"), "configMapRef": (CONFIG_MAP, "name")}
SOURCE: Final[Form] = {"secret": (SECRET, "name"), "configMap": (CONFIG_MAP, "name")}
VOLUME: Final[Form] = {"secret": (SECRET, "secretName"), "configMap": (CONFIG_MAP, "name")}
PLUGINS: Final = {
    "secret": "kubernetes.io~secret",
    "configMap": "kubernetes.io~configmap",
    "projected": "kubernetes.io~projected",
}
"""The directories of volumes of a pod, by their kinds."""


class UnknownFormError(Exception):
    """A pod names an object in a form that the oracle does not know."""


@dataclass(frozen=True, slots=True)
class Reference:
    """An object that a pod names."""

    kind: str
    name: str
    is_optional: bool = False
    items: Mapping[str, str] | None = None
    """By key the path of its file in a volume. None if each has its own name, or there are no files."""

    @property
    def key(self) -> tuple[str, str]:
        """Its kind and name."""
        return self.kind, self.name


def references(pod: Pod) -> Iterator[Reference]:
    """Yield what a pod names, once for each place where it does."""
    spec = pod.document["spec"]
    for container in containers_of(pod):
        yield from variables_of(container)
    for _, _, reference in files_of(pod):
        yield reference
    for each in spec.get("imagePullSecrets", ()):
        yield Reference(SECRET, each["name"], is_optional=True)


def containers_of(pod: Pod) -> Iterator[JsonObject]:
    """Yield all containers of a pod."""
    spec = pod.document["spec"]
    for group in ("initContainers", "containers", "ephemeralContainers"):
        yield from spec.get(group, ())


def variables_of(container: JsonObject) -> Iterator[Reference]:
    """Yield the objects that a container's variables need."""
    for each in container.get("env", ()):
        if "valueFrom" in each:
            yield from _in(each["valueFrom"], VARIABLE)
    for each in container.get("envFrom", ()):
        yield from _in(each, VARIABLES)


def files_of(pod: Pod) -> Iterator[tuple[str, str, Reference]]:
    """Yield the directory of each volume's kind, the volume's name, and an object that it shows."""
    for volume in pod.document["spec"].get("volumes", ()):
        if "projected" in volume:
            sources, form = volume["projected"]["sources"], SOURCE
            plugin = PLUGINS["projected"]
        else:
            sources, form = [volume], VOLUME
            plugin = next((PLUGINS[each] for each in VOLUME if each in volume), "")
        for source in sources:
            for reference in _in(source, form):
                yield plugin, volume["name"], reference


def _in(said: Mapping[str, Any], form: Form) -> Iterator[Reference]:
    fields = said.keys() - {"name", "prefix"}
    for field in fields - WITHOUT_OBJECTS:
        if field not in form:
            raise UnknownFormError(f"{field} of {dict(said)}")
        (kind, name), shown = form[field], said[field]
        items = {each["key"]: each["path"] for each in shown["items"]} if "items" in shown else None
        yield Reference(kind, shown[name], bool(shown.get("optional")), items)
