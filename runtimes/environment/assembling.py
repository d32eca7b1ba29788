"""Makes the environment of one container, as a kubelet does. Pure.

- First come all variables of ``envFrom``, in its order, with their prefixes; then those of ``env``; last
  those of Services, as far as nothing else has their names.
- Of two with one name the later counts, at the earlier one's place. A value that is missing and optional
  leaves an earlier one as it is.
- ``$(NAME)`` in a literal value is what is defined before it, or of a Service. In command and arguments it
  is whatever the container gets.
- Keys in ``envFrom`` may be names that shells cannot write, such as ``a-b``. Those that no process can have
  are skipped.
- A pod sees the Services of its own namespace, unless it sets ``enableServiceLinks`` to false, and in any
  case ``kubernetes`` in the namespace ``default``: the API server. A Service of this name in the pod's own
  namespace takes its place.

``$(NAME)`` becomes the value of NAME, and stays as it is if there is no such variable. NAME is everything up
to the next ``)``, whatever it is. ``$$`` becomes ``$``, and begins nothing. Any other ``$`` stays. What was
put in is not looked at again, so variables that name each other end nowhere.
"""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Iterable, Mapping
from typing import Final

from manifests.downward import OLD_NAMES, UnknownAmountError, amount_value, metadata_value
from manifests.names import environment_name
from manifests.texts import as_bytes
from messages.cluster import ClusterPort, ClusterService
from messages.pods import JsonObject, Pod
from runtimes.environment.objects import (
    Environment,
    EnvironmentSituation,
    ObjectsOfPod,
    SkippedNames,
    UnusableEnvironmentError,
    one_value,
    whole_object,
)

LONGEST_TEXT: Final = 2 * 1024 * 1024
"""Bytes, and characters before they are encoded. Linux gives a process 32 pages of memory for one variable
or argument: 128 KiB on most machines, and 2 MiB where pages have 64 KiB."""

_TOKEN: Final = re.compile(r"\$(?:\$|\(([^)]*)\))")


def expanded(text: str, variables: Mapping[str, str]) -> str:
    """Return ``text`` with each ``$(NAME)`` replaced that ``variables`` have.

    Raises UnusableEnvironmentError if it becomes longer than any process could take.
    """
    if "$" not in text:
        return text
    # Behind the last ")" there is no reference. So each one that is looked at has its end, and a text with
    # many beginnings and no end is not searched from each of them.
    end = text.rfind(")") + 1
    parts, length, place = list[str](), len(text) - end, 0
    for found in _TOKEN.finditer(text, 0, end):
        name = found[1]
        value = "$" if name is None else variables.get(name, found[0])
        parts += (text[place : found.start()], value)
        length += found.start() - place + len(value)
        place = found.end()
        if length > LONGEST_TEXT:
            raise UnusableEnvironmentError("is longer than a process can be given")
    return "".join((*parts, text[place:end], text[end:].replace("$$", "$")))


def without_value(text: str, variables: Mapping[str, str]) -> tuple[str, ...]:
    """Return the names that ``text`` refers to and that have no value, or an empty one. In order."""
    named = (found[1] for found in _TOKEN.finditer(text, 0, text.rfind(")") + 1))
    return tuple(sorted({name for name in named if name is not None and not variables.get(name)}))


_MASTER: Final = ("default", "kubernetes")

_OF_SPEC: Final = {
    "spec.nodeName": "nodeName",
    "spec.serviceAccountName": "serviceAccountName",
}

MOST_TOGETHER: Final = 8 * 1024 * 1024
"""Bytes of all variables and arguments. Linux gives a process 6 MiB at the most, and runtimes take messages
of 16 MiB."""


def service_variables(pod: Pod, services: Iterable[ClusterService]) -> dict[str, str]:
    """Return the variables of the Services that ``pod`` sees, by the names of these."""
    variables: dict[str, str] = {}
    for service in sorted(_seen(pod, services), key=lambda each: each.name):
        variables |= _variables(service)
    return variables


def has_service_links(pod: Pod) -> bool:
    """Return whether ``pod`` wants to know of the Services of its namespace."""
    spec: JsonObject = pod.document.get("spec") or {}
    return spec.get("enableServiceLinks") is not False


def _seen(pod: Pod, services: Iterable[ClusterService]) -> Iterable[ClusterService]:
    links = has_service_links(pod)
    seen: dict[str, ClusterService] = {}
    for service in services:
        if links and service.namespace == pod.namespace:
            seen[service.name] = service
        elif (service.namespace, service.name) == _MASTER:
            seen.setdefault(service.name, service)
    return seen.values()


def _variables(service: ClusterService) -> dict[str, str]:
    name, ports = _upper(service.name), service.ports
    variables = {f"{name}_SERVICE_HOST": service.address}
    if ports:
        variables[f"{name}_SERVICE_PORT"] = str(ports[0].port)
    for each in ports:
        if each.name:
            variables[f"{name}_SERVICE_PORT_{_upper(each.name)}"] = str(each.port)
    if ports:
        variables[f"{name}_PORT"] = _url(service, ports[0])
    for each in ports:
        variables |= _link(service, each, f"{name}_PORT_{each.port}_{each.protocol.upper()}")
    return variables


def _link(service: ClusterService, port: ClusterPort, prefix: str) -> dict[str, str]:
    """Return the variables of one port, as Docker's links had them."""
    return {
        prefix: _url(service, port),
        f"{prefix}_PROTO": port.protocol.lower(),
        f"{prefix}_PORT": str(port.port),
        f"{prefix}_ADDR": service.address,
    }


def _url(service: ClusterService, port: ClusterPort) -> str:
    host = f"[{service.address}]" if ":" in service.address else service.address
    return f"{port.protocol.lower()}://{host}:{port.port}"


def _upper(name: str) -> str:
    return name.upper().replace("-", "_")


def field_value(situation: EnvironmentSituation, reference: JsonObject) -> str:
    """Return the value of a field of the pod. Raises UnusableEnvironmentError."""
    version, path = reference.get("apiVersion") or "v1", str(reference.get("fieldPath") or "")
    if version != "v1":
        raise UnusableEnvironmentError(f"unsupported pod version: {version}")
    path = OLD_NAMES.get(path, path)
    if path.startswith("status."):
        return _address(situation, path)
    return _of_pod(situation.pod, path)


def _of_pod(pod: Pod, path: str) -> str:
    if path in _OF_SPEC:
        spec: JsonObject = pod.document.get("spec") or {}
        return str(spec.get(_OF_SPEC[path]) or "")
    value = metadata_value(pod, path)
    if value is None:
        raise UnusableEnvironmentError(f"field label not supported: {path}")
    return value


def _address(situation: EnvironmentSituation, path: str) -> str:
    match path:
        case "status.hostIP" | "status.hostIPs":
            addresses = situation.host_ips
        case "status.podIP" | "status.podIPs":
            addresses = _pod_ips(situation)
        case _:
            raise UnusableEnvironmentError(f"field label not supported: {path}")
    if addresses is None:
        raise UnusableEnvironmentError(f"field {path} is not known here")
    return ",".join(addresses if path.endswith("s") else addresses[:1])


def _pod_ips(situation: EnvironmentSituation) -> tuple[str, ...] | None:
    spec: JsonObject = situation.pod.document.get("spec") or {}
    in_host_network = not situation.pod_ips and spec.get("hostNetwork") is True
    addresses = situation.host_ips if in_host_network else situation.pod_ips
    return None if addresses is None else tuple(addresses)


def environment_of(situation: EnvironmentSituation) -> Environment:
    """Return what the container is started with, or why that cannot be said."""
    try:
        return _Assembly(situation).environment()
    except (UnusableEnvironmentError, UnknownAmountError) as error:
        return Environment(failure=str(error))


class _Assembly:
    """An environment that is being made. Its methods raise what is caught where it is made."""

    def __init__(self, situation: EnvironmentSituation) -> None:
        self._situation = situation
        self._objects = ObjectsOfPod(situation.pod, situation.objects)
        self._variables: dict[str, str] = {}
        self._skipped: list[SkippedNames] = []
        self._size = 0

    def environment(self) -> Environment:
        situation, container = self._situation, self._situation.container
        for source in container.get("envFrom") or ():
            self._take_all(source)
        services = service_variables(situation.pod, situation.services)
        visible = ChainMap(self._variables, services)
        for variable in container.get("env") or ():
            self._take_one(variable, visible)
        variables = self._variables | {
            name: value for name, value in services.items() if name not in self._variables
        }
        return Environment(
            variables=variables,
            command=self._words("command", variables),
            args=self._words("args", variables),
            skipped=tuple(self._skipped),
        )

    def _take_all(self, source: JsonObject) -> None:
        needed = whole_object(source)
        if needed is None:
            raise UnusableEnvironmentError("an item of envFrom names no object that is known here")
        prefix, skipped = source.get("prefix") or "", list[str]()
        for key, value in self._objects.all_of(needed).items():
            name = prefix + key
            if environment_name(name):
                skipped.append(name)
            else:
                self._set(name, value.decode(errors="surrogateescape"))
        if skipped:
            whose = f"{self._situation.pod.namespace}/{needed.name}"
            self._skipped.append(SkippedNames(needed.kind, whose, tuple(sorted(skipped))))

    def _take_one(self, variable: JsonObject, visible: Mapping[str, str]) -> None:
        name = str(variable.get("name") or "")
        if environment_name(name):
            raise UnusableEnvironmentError(f"{name!a} is no name of a variable")
        literal, origin = variable.get("value"), variable.get("valueFrom")
        if literal or not origin:
            self._set(name, _expanded(f"variable {name}", literal or "", visible))
            return
        value = self._value_from(name, origin)
        if value is not None:
            self._set(name, value)

    def _value_from(self, name: str, origin: JsonObject) -> str | None:
        if reference := origin.get("fieldRef"):
            return field_value(self._situation, reference)
        if reference := origin.get("resourceFieldRef"):
            situation = self._situation
            return amount_value(
                situation.pod,
                reference,
                container=situation.container,
                allocatable=situation.allocatable,
            )
        if needed := one_value(origin):
            value = self._objects.value_of(needed)
            return None if value is None else value.decode(errors="surrogateescape")
        if "fileKeyRef" in origin:
            raise UnusableEnvironmentError(f"variable {name}: fileKeyRef is not supported")
        raise UnusableEnvironmentError(f"variable {name} comes from a place that is not known here")

    def _set(self, name: str, value: str) -> None:
        self._check(f"variable {name}", value)
        self._variables[name] = value

    def _words(self, field: str, variables: Mapping[str, str]) -> tuple[str, ...]:
        words = self._situation.container.get(field) or ()
        return tuple(self._word(field, str(word), variables) for word in words)

    def _word(self, field: str, word: str, variables: Mapping[str, str]) -> str:
        text = _expanded(field, word, variables)
        self._check(field, text)
        if not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text):
            raise UnusableEnvironmentError(f"{field} must be UTF-8, with the values of variables")
        return text

    def _check(self, what: str, text: str) -> None:
        size = len(text) if text.isascii() else len(as_bytes(text))
        self._size += size
        if "\0" in text:
            raise UnusableEnvironmentError(f"{what} has a NUL, which no process can be given")
        if size > LONGEST_TEXT:
            raise UnusableEnvironmentError(f"{what} is longer than a process can be given")
        if self._size > MOST_TOGETHER:
            raise UnusableEnvironmentError(
                "variables and arguments together are longer than a process can be given"
            )


def _expanded(what: str, text: str, variables: Mapping[str, str]) -> str:
    try:
        return expanded(text, variables)
    except UnusableEnvironmentError as error:
        raise UnusableEnvironmentError(f"{what} {error}") from None
