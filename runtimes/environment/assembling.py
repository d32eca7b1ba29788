"""Makes the environment of one container, as a kubelet does. Pure.

- First come all variables of ``envFrom``, in its order, with their prefixes; then those of ``env``; last
  those of Services, as far as nothing else has their names.
- Of two with one name the later counts, at the earlier one's place. A value that is missing and optional
  leaves an earlier one as it is.
- ``$(NAME)`` in a literal value is what is defined before it, or of a Service. In command and arguments it
  is whatever the container gets. See ``expansion``.
- Keys in ``envFrom`` may be names that shells cannot write, such as ``a-b``. Those that no process can have
  are skipped.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping
from typing import Final

from manifests.downward.amounts import amount_value
from manifests.downward.errors import UnknownAmountError
from manifests.names import environment_name
from manifests.texts import as_bytes
from messages.pods import JsonObject
from runtimes.environment.errors import UnusableEnvironmentError
from runtimes.environment.expansion import LONGEST_TEXT, expanded
from runtimes.environment.objects import ObjectsOfPod, one_value, whole_object
from runtimes.environment.pod_fields import field_value
from runtimes.environment.service_variables import service_variables
from runtimes.environment.situation import (
    Environment,
    EnvironmentSituation,
    SkippedNames,
)

MOST_TOGETHER: Final = 8 * 1024 * 1024
"""Bytes of all variables and arguments. Linux gives a process 6 MiB at the most, and runtimes take messages
of 16 MiB."""


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
