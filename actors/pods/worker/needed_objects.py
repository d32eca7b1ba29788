"""Which Secrets and ConfigMaps one pod needs to run, and what is known of them. Pure.

Files of a volume are needed before anything of the pod starts, and stay once they are there. Variables are
needed whenever a container starts, and pull secrets whenever an image is pulled, so these objects are told to
the runtime, and told again when they change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from actors.pods.records import ObjectVersion
from manifests.change_hooks import ON_OBJECT_CHANGE, ChangeHook, ChangeHookError, change_hook
from manifests.references import Use, object_of, pod_references
from messages.objects import (
    Change,
    HeldObject,
    ObjectChanged,
    ObjectId,
    ObjectKind,
    ObjectValue,
    ReadVerdict,
)
from messages.pods import Pod

_FILES: Final = frozenset({Use.VOLUME, Use.PART})
_TOLD: Final = frozenset({Use.START, Use.PULL})

_UNREAD: Final = frozenset(
    {
        ReadVerdict.NOT_REGISTERED,
        ReadVerdict.NOT_SYNCED,
        ReadVerdict.FORBIDDEN,
        ReadVerdict.UNUSABLE,
    }
)
"""What says neither that an object is there nor that it is not."""

_SENTENCES: Final = {
    ReadVerdict.NOT_FOUND: "not found",
    ReadVerdict.NOT_REGISTERED: "not registered",
    ReadVerdict.NOT_SYNCED: "not read yet",
    ReadVerdict.FORBIDDEN: "may not be read by this node",
    ReadVerdict.UNUSABLE: "cannot be used",
}


@dataclass(slots=True)
class NeededObject:
    """One object, what it is needed for, and what is known of it."""

    is_told: bool = False
    """The runtime is told its value: for variables of containers, and for pulling their images."""
    for_variables: bool = False
    for_files: bool = False
    """A volume needs it, and is not optional."""
    is_required: bool = False
    is_acted_on: bool = False
    """The pod has something done when it changes, by its annotation."""
    is_awaited: bool = True
    """A fresh value is waited for."""
    unproven: HeldObject | None = None
    """What was told meanwhile, which may be older than the pod."""
    verdict: ReadVerdict | None = None
    """None until something was taken."""
    reason: str = ""
    """Why it is not there, if that is known."""
    value: ObjectValue | None = None
    """Kept if the runtime is told it."""
    version: ObjectVersion | None = None
    """Of the last value that was taken."""
    decided: ObjectVersion | None = None
    """The version up to which it was decided what is done about changes: not always the last one, of which
    the value comes first."""
    keys: tuple[str, ...] = ()
    """Of an object whose changes are acted on."""

    def tells_as_much_as(self, other: NeededObject) -> bool:
        """Return whether what is known for this one is all that ``other`` needs."""
        has_value = self.is_told or not other.is_told
        return has_value and (self.is_acted_on or not other.is_acted_on)

    @property
    def is_unread(self) -> bool:
        """Whether nobody knows if it is there. Without one that only pulls need, a pod starts anyway."""
        return self.for_variables and (self.verdict is None or self.verdict in _UNREAD)

    @property
    def is_there(self) -> bool:
        """Whether it was found."""
        return self.verdict in {ReadVerdict.FOUND, ReadVerdict.STALE}


class NeededObjects:
    """The objects that a pod needs for its variables, its images, and files of its volumes."""

    def __init__(self, objects: Mapping[ObjectId, NeededObject]) -> None:
        self._objects = objects

    def __len__(self) -> int:
        return len(self._objects)

    def ids(self) -> tuple[ObjectId, ...]:
        """Return them all."""
        return tuple(self._objects)

    def kinds(self) -> tuple[ObjectKind, ...]:
        """Return each of their kinds once."""
        return tuple(dict.fromkeys(each.kind for each in self._objects))

    def keep(self, earlier: NeededObjects) -> None:
        """Take over what an ``earlier`` version of the pod knows of the same objects, needed for the same."""
        for wanted, known in self._objects.items():
            before = earlier._objects.get(wanted)
            if before is not None and before.tells_as_much_as(known):
                known.is_awaited, known.unproven = before.is_awaited, before.unproven
                known.verdict, known.reason = before.verdict, before.reason
                known.value = before.value if known.is_told else None
                known.version, known.keys = before.version, before.keys
                known.decided = before.decided

    def note(self, wanted: ObjectId, held: HeldObject, *, is_fresh: bool) -> None:
        """Note what an object is. What may be older than the pod counts once nobody waits for better."""
        known = self._objects.get(wanted)
        if known is None:
            return
        known.is_awaited &= not is_fresh
        if known.is_awaited:
            known.unproven = held
        else:
            _take(known, held)

    def take_unproven(self) -> Iterator[tuple[ObjectId, HeldObject]]:
        """Wait no longer. Yield what counts now although nobody could say that it is fresh."""
        for wanted, known in self._objects.items():
            held = known.unproven
            known.is_awaited = False
            if held is not None:
                _take(known, held)
                yield wanted, held

    def values(self) -> dict[ObjectId, ObjectValue]:
        """Return what the runtime is told, as far as it is there."""
        found = self._objects.items()
        return {wanted: known.value for wanted, known in found if known.value is not None}

    def unread(self) -> dict[ObjectId, str]:
        """Return why others that variables are set from cannot be read."""
        found = self._objects.items()
        return {wanted: _why_unread(known) for wanted, known in found if known.is_unread}

    def versions(self) -> dict[ObjectId, ObjectVersion]:
        """Return the versions of the objects whose changes are acted on, as they are now."""
        found = self._objects.items()
        return {wanted: known.version for wanted, known in found if known.version is not None}

    def decided_versions(self) -> dict[ObjectId, ObjectVersion]:
        """Return the versions of these objects up to which it was decided what is done about changes."""
        found = self._objects.items()
        return {wanted: known.decided for wanted, known in found if known.decided is not None}

    def note_change(self, changed: ObjectChanged) -> None:
        """Note that it was decided what is done about a change, if anything."""
        known = self._objects.get(changed.object)
        if known is not None and known.is_acted_on and changed.change is not Change.DELETED:
            known.decided = ObjectVersion(changed.uid, changed.resource_version)

    def missed_changes(
        self, begun_with: Mapping[ObjectId, ObjectVersion]
    ) -> Iterator[ObjectChanged]:
        """Yield what has changed since the pod had the versions that it has ``begun_with``.

        What was in them is not known any more, so every key counts as changed.
        """
        for wanted, known in self._objects.items():
            before, now = begun_with.get(wanted), known.version
            if now is not None and now != before:
                yield ObjectChanged(
                    object=wanted,
                    change=Change.ADDED if before is None else Change.MODIFIED,
                    uid=now.uid,
                    resource_version=now.resource_version,
                    keys=known.keys,
                )

    def awaited(self) -> list[ObjectId]:
        """Return those of which a fresh value is waited for."""
        return [wanted for wanted, known in self._objects.items() if known.is_awaited]

    def acted_on(self) -> list[ObjectId]:
        """Return those whose changes the pod acts on."""
        return [wanted for wanted, known in self._objects.items() if known.is_acted_on]

    def missing(self) -> list[ObjectId]:
        """Return those that are required and not there, or that nobody knows of whether they are."""
        found = self._objects.items()
        return [
            wanted
            for wanted, known in found
            if not known.is_awaited
            and ((known.is_required and not known.is_there) or known.is_unread)
        ]

    def missing_files(self) -> list[str]:
        """Return, in words, which objects a volume requires that are not there."""
        return [
            _sentence(wanted, known)
            for wanted, known in self._objects.items()
            if known.for_files and not known.is_there
        ]


NOTHING_NEEDED: Final = NeededObjects({})
"""What most pods of a mass start need."""


def needed_objects(pod: Pod, *, with_files: bool = True) -> NeededObjects:
    """Return what ``pod`` needs before it can start, or acts on.

    Without ``with_files``, somebody else sees to the files of its volumes.
    """
    objects: dict[ObjectId, NeededObject] = {}
    hook: ChangeHook | None = None
    is_hook_read = False
    for reference in pod_references(pod.document):
        if not is_hook_read:  # most pods have no references, and no annotation is looked for then
            hook, is_hook_read = _hook_of(pod), True
        is_told, is_file = reference.use in _TOLD, reference.use in _FILES
        is_needed_file = with_files and is_file and not reference.is_optional
        is_acted_on = hook is not None and hook.concerns({reference.use})
        if is_told or is_needed_file or is_acted_on:
            wanted = object_of(pod, reference.kind, reference.name)
            known = objects.setdefault(wanted, NeededObject())
            known.is_told |= is_told
            known.for_variables |= reference.use is Use.START
            known.for_files |= is_needed_file
            # Without a pull secret an image is pulled all the same: it may be anybody's, or there already.
            is_required = reference.use is not Use.PULL and is_told and not reference.is_optional
            known.is_required |= is_required or is_needed_file
            known.is_acted_on |= is_acted_on
    return NeededObjects(objects) if objects else NOTHING_NEEDED


def _hook_of(pod: Pod) -> ChangeHook | None:
    """Return what the pod wants done about changes. An annotation that cannot be read is others' business."""
    try:
        return change_hook(pod.annotations.get(ON_OBJECT_CHANGE, ""))
    except ChangeHookError:
        return None


def _take(known: NeededObject, held: HeldObject) -> None:
    known.unproven = None
    known.verdict, known.reason = held.verdict, held.reason
    known.value = held.value if known.is_told else None
    if held.value is not None and known.is_acted_on:
        known.version = ObjectVersion(held.value.uid, held.value.resource_version)
        known.decided = known.decided or known.version
        known.keys = tuple(sorted(held.value.data))


def _sentence(wanted: ObjectId, known: NeededObject) -> str:
    return f'{wanted.kind} "{wanted.display_name}" {_why_missing(known)}'


def _why_missing(known: NeededObject) -> str:
    return "not read yet" if known.verdict is None else _SENTENCES.get(known.verdict, "")


def _why_unread(known: NeededObject) -> str:
    why = _why_missing(known)
    return f"{why}: {known.reason}" if known.reason else why
