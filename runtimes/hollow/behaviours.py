"""What a pod says of its hollow containers: by annotations, then by commands, then as the rules are. Pure.

``hollow.actorlet/NAME`` is about all regular containers of the pod, or about the pod as a whole;
``hollow.actorlet/NAME.CONTAINER`` is about one container, of whatever kind, and wins. The table is in
``docs/hollow-nodes.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import suppress
from signal import Signals
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar, cast

from manifests.restart_rules import ALWAYS, behaviour_of, is_sidecar
from manifests.times import Span, parse_span
from messages.pods import JsonObject, Pod
from runtimes.hollow.commands import outcome_of
from runtimes.hollow.rules import (
    NO_TIME,
    NOT_STARTED,
    OUT_OF_MEMORY,
    ContainerBehaviour,
    Ending,
    HollowRules,
    ImageBehaviour,
    SandboxBehaviour,
    ending_of,
)

PREFIX: Final = "hollow.actorlet/"
_MAX_EXITS = 100
_MAX_TEXT_LEN = 4096
B = TypeVar("B")
_KEPT: Final = 1024
"""Behaviours. Pods made from one template share one."""


class HollowAnnotation(NamedTuple):
    """One annotation with our prefix."""

    key: str
    """Without the prefix."""
    value: str
    what: str
    """The key without the name of a container."""
    container: str = ""
    """The name of the container that it is about; empty for none in particular."""


HollowAnnotations: TypeAlias = tuple[HollowAnnotation, ...]


class UnreadableAnnotationError(Exception):
    """An annotation cannot be read. The text names it, for people."""


def _run_time(text: str) -> Span | None:
    return None if text == "forever" else parse_span(text)


def _text(text: str) -> str:
    if not text or len(text) > _MAX_TEXT_LEN:
        raise ValueError(f"should be a text of at most {_MAX_TEXT_LEN} characters")
    return text


def _switch(text: str) -> bool:
    if text not in {"true", "false"}:
        raise ValueError("should be true or false")
    return text == "true"


def _signal(text: str) -> str:
    if text not in Signals.__members__:
        raise ValueError("should name a signal, such as SIGHUP")
    return text


def _number(most: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text) <= most):
            raise ValueError(f"should be a number from 0 to {most}")
        return int(text)

    return read


_exit_code = _number(255)
_ENDINGS: Final[Mapping[str, Ending | None]] = {
    "run": None,
    "OOMKilled": OUT_OF_MEMORY,
    "StartError": NOT_STARTED,
}


def _exits(text: str) -> tuple[Ending | None, ...]:
    words = [word.strip() for word in text.split(",")]
    try:
        endings = tuple(
            _ENDINGS[word] if word in _ENDINGS else ending_of(_exit_code(word)) for word in words
        )
    except ValueError:
        endings = ()
    if not 0 < len(endings) <= _MAX_EXITS:
        kinds = "an exit code, OOMKilled, StartError, run"
        raise ValueError(f"should be 1 to {_MAX_EXITS} of these, with commas between them: {kinds}")
    return endings


AnnotationReader: TypeAlias = Callable[[str], Any]
AnnotationTable: TypeAlias = Mapping[str, tuple[str, AnnotationReader]]
OF_PODS: Final[AnnotationTable] = {
    "time-to-create-sandbox": ("to_create", parse_span),
    "sandbox-error": ("error", _text),
    "sandbox-dies-after": ("dies_after", parse_span),
}
"""Annotations about the pod as a whole: the field that each one sets, and what reads its value."""
OF_IMAGES: Final[AnnotationTable] = {
    "time-to-pull": ("to_pull", parse_span),
    "pull-error": ("error", _text),
    "pull-error-times": ("failures", _number(1000)),
}
"""Annotations about pulling the image of a container."""
OF_CONTAINERS: Final[AnnotationTable] = {
    "time-to-create": ("to_create", parse_span),
    "create-error": ("create_error", _text),
    "time-to-start": ("to_start", parse_span),
    "run-for": ("run_for", _run_time),
    "exits": ("exits", _exits),
    "message": ("message", _text),
    "ready-after": ("ready_after", parse_span),
    "started-after": ("started_after", parse_span),
    "unready-after": ("unready_after", parse_span),
    "unready-for": ("unready_for", parse_span),
    "hangs-after": ("hangs_after", parse_span),
    "time-to-stop": ("to_stop", parse_span),
    "ignores-sigterm": ("ignores_sigterm", _switch),
    "stop-exit-code": ("stop_ending", lambda text: ending_of(_exit_code(text))),
    "ends-by-signal": ("ends_by_signal", _signal),
    "resize-error": ("resize_error", _text),
    "exec-exit-code": ("exec_exit_code", _exit_code),
    "time-for-post-start": ("for_post_start", parse_span),
    "post-start-error": ("post_start_error", _text),
    "time-for-pre-stop": ("for_pre_stop", parse_span),
    "pre-stop-error": ("pre_stop_error", _text),
}
"""Annotations about a container."""
_READERS: Final[AnnotationTable] = {**OF_PODS, **OF_IMAGES, **OF_CONTAINERS}


def annotations_of(pod: Pod) -> HollowAnnotations:
    """Return the annotations that have our prefix."""
    return tuple(
        _split(key[len(PREFIX) :], value)
        for key, value in pod.annotations.items()
        if key.startswith(PREFIX)
    )


def _split(key: str, value: str) -> HollowAnnotation:
    what, _, container = key.partition(".")
    return HollowAnnotation(key, value, what, container)


def about_container(said: HollowAnnotations, name: str, *, is_regular: bool) -> HollowAnnotations:
    """Return those that are about the container ``name``, at most one of each kind."""
    found = {each.what: each for each in said if is_regular and each.key == each.what}
    found |= {each.what: each for each in said if each.container == name}
    return tuple(found.values())


def check(pod: Pod, said: HollowAnnotations) -> None:
    """Raise ``UnreadableAnnotationError`` for an annotation that is about nothing here."""
    for key, _, what, _ in said:
        if what not in _READERS:
            known = ", ".join(sorted(_READERS))
            raise UnreadableAnnotationError(
                f"annotation {PREFIX}{key} is not known; known are {known}"
            )
        if key == what:
            continue
        if what in OF_PODS:
            raise UnreadableAnnotationError(
                f"annotation {PREFIX}{key} is about the pod as a whole: it is called {PREFIX}{what}"
            )
        if key[len(what) + 1 :] not in _names(pod.document):
            raise UnreadableAnnotationError(
                f"annotation {PREFIX}{key} names no container of the pod"
            )


def read_strictly(said: HollowAnnotations) -> Mapping[str, Any]:
    """Return fields of ``ContainerBehaviour``.

    Raises ``UnreadableAnnotationError`` for the first annotation that cannot be read, of whatever kind.
    """
    fields: dict[str, Any] = {}
    for each in said:
        field, reader = _READERS[each.what]
        try:
            value = reader(each.value)
        except ValueError as error:
            raise UnreadableAnnotationError(f"annotation {PREFIX}{each.key} {error}") from None
        if each.what in OF_CONTAINERS:
            fields[field] = value
    if "unready_for" in fields and "unready_after" not in fields:
        raise UnreadableAnnotationError(
            f"annotation {PREFIX}unready-for needs {PREFIX}unready-after"
        )
    return fields


def read_leniently(said: HollowAnnotations, table: AnnotationTable) -> dict[str, Any]:
    """Return the fields that ``table`` names, without those that cannot be read.

    Those are told of when a container is created.
    """
    fields: dict[str, Any] = {}
    for each in said:
        if each.what in table:
            field, reader = table[each.what]
            with suppress(ValueError):
                fields[field] = reader(each.value)
    return fields


def _names(document: JsonObject) -> set[str]:
    spec = document["spec"]
    kinds = ("containers", "initContainers", "ephemeralContainers")
    return {container["name"] for kind in kinds for container in spec.get(kind) or ()}


class ContainerRole(NamedTuple):
    """What a container is in its pod, as far as it matters for how long it runs."""

    is_regular: bool
    is_init: bool
    """It ends before the next container starts."""
    runs_on: bool
    """It is expected to run until it is stopped."""


class Behaviours:
    """Reads behaviours, and remembers those that it read last."""

    def __init__(self, rules: HollowRules) -> None:
        self._rules = rules
        self._known: dict[Hashable, Any] = {}
        spans = (rules.to_create_sandbox, rules.to_pull, rules.to_create)
        self._takes_time = any(span.most for span in spans)

    def takes_time(self, pod: Pod) -> bool:
        """Whether it may take time to make what ``pod`` needs. Asked first, since it is cheap."""
        return self._takes_time or any(key.startswith(PREFIX) for key in pod.annotations)

    def of_container(self, pod: Pod, container: JsonObject) -> ContainerBehaviour:
        """Return how ``container`` behaves. Raises ``UnreadableAnnotationError``."""
        role = role_of(pod, container)
        said = annotations_of(pod)
        if said:
            check(pod, said)
            said = about_container(said, container["name"], is_regular=role.is_regular)
        command = (tuple(container.get("command") or ()), tuple(container.get("args") or ()))
        return self._once(
            ("container", said, role, command),
            lambda: ContainerBehaviour(**self._fields(read_strictly(said), container, role)),
        )

    def of_image(self, pod: Pod, image: str) -> ImageBehaviour:
        """Return what happens when ``image`` is pulled for ``pod``: as the first container with it says."""
        fields: dict[str, Any] = {}
        said = annotations_of(pod)
        if said:
            for container in _with_image(pod, image):
                is_regular = role_of(pod, container).is_regular
                own = about_container(said, container["name"], is_regular=is_regular)
                fields = read_leniently(own, OF_IMAGES)
                if fields:
                    break
        fields.setdefault("to_pull", self._rules.to_pull)
        return self._once(("image", *fields.items()), lambda: ImageBehaviour(**fields))

    def of_sandbox(self, pod: Pod) -> SandboxBehaviour:
        """Return what happens to the sandboxes of ``pod``."""
        fields = read_leniently(annotations_of(pod), OF_PODS)
        fields.setdefault("to_create", self._rules.to_create_sandbox)
        return self._once(("sandbox", *fields.items()), lambda: SandboxBehaviour(**fields))

    def _fields(
        self, said: Mapping[str, Any], container: JsonObject, role: ContainerRole
    ) -> Mapping[str, Any]:
        rules = self._rules
        fields: dict[str, Any] = {
            "to_create": rules.to_create,
            "to_start": rules.to_start,
            "to_stop": rules.to_stop,
        }
        ends_after: Span | None = NO_TIME if role.is_init else rules.run_for
        outcome = outcome_of(container)
        if outcome is not None:
            fields["says"] = outcome.says
            fields["exits"] = (ending_of(outcome.exit_code),)
            if outcome.seconds is not None:
                ends_after = Span(outcome.seconds, outcome.seconds)
        is_endless = outcome.seconds is None if outcome is not None else role.runs_on
        fields["run_for"] = None if is_endless and "exits" not in said else ends_after
        return {**fields, **said}

    def _once(self, key: Hashable, make: Callable[[], B]) -> B:
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= _KEPT:
                self._known.clear()
            found = self._known[key] = make()
        return cast("B", found)


def role_of(pod: Pod, container: JsonObject) -> ContainerRole:
    """Return what ``container`` is in ``pod``; one that has no place in its specification is ephemeral."""
    spec, name = pod.document["spec"], container["name"]
    if any(each["name"] == name for each in spec.get("containers") or ()):
        policy = behaviour_of(container, spec.get("restartPolicy") or "").policy
        return ContainerRole(is_regular=True, is_init=False, runs_on=policy == ALWAYS)
    if any(each["name"] == name for each in spec.get("initContainers") or ()):
        stays = is_sidecar(container)
        return ContainerRole(is_regular=False, is_init=not stays, runs_on=stays)
    return ContainerRole(is_regular=False, is_init=False, runs_on=True)


def _with_image(pod: Pod, image: str) -> Iterator[JsonObject]:
    spec = pod.document["spec"]
    for kind in ("containers", "initContainers", "ephemeralContainers"):
        yield from (each for each in spec.get(kind) or () if each.get("image") == image)
