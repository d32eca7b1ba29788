"""Which pods reference which Secrets, or which ConfigMaps: a set of pods for each object, never a counter.

A pod is held by the source that lists it and by whoever registered it, independently: it references whatever
either of them says. A change of the index returns the objects whose references it touched. The caller acts on
them after a whole batch, so that an object that one pod drops and another takes up is held in between.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from typing import Final, NamedTuple

from manifests.change_hooks import ON_OBJECT_CHANGE, ChangeHook, ChangeHookError, change_hook
from manifests.references import Use, origin_of, pod_references
from messages.changes import Op, PodChange
from messages.holders import EVERY_MARK, NO_MARK, Mark
from messages.objects import ObjectId, ObjectKind, Origin
from messages.pods import Pod, PodUid, SourceName

_NO_USE: Final = frozenset[Use]()
_NONE: Final = frozenset[ObjectId]()


class PodNeeds(NamedTuple):
    """What one version of a pod needs of one kind of objects."""

    uid: PodUid
    name: str
    """``<namespace>/<name>``."""
    namespace: str
    origin: Origin
    references: Mapping[ObjectId, frozenset[Use]]
    """Each object once, with everything that the pod uses it for."""
    hook: ChangeHook | None
    """What to do about a change; None: nothing."""
    hook_error: str
    """Why its annotation cannot be read, for people; empty if it can."""
    is_ending: bool
    """Whether it ran to its end, or its graceful deletion has begun."""
    optional: frozenset[ObjectId] = _NONE
    """The objects that it starts without, too: each of its references to them says so."""

    def requires(self, wanted: ObjectId) -> bool:
        """Return whether the pod cannot start without an object."""
        return wanted in self.references and wanted not in self.optional

    def object(self, kind: ObjectKind, name: str) -> ObjectId:
        """Return the object that the pod means by ``name``."""
        return ObjectId(kind=kind, namespace=self.namespace, name=name, origin=self.origin)

    def has_hook_for(self, wanted: ObjectId) -> bool:
        """Return whether the pod wants something done about changes of an object that it references."""
        return self.hook is not None and self.hook.concerns(self.references[wanted])

    @property
    def is_hooked(self) -> bool:
        """Whether the pod wants something done about changes of any of its objects."""
        return any(map(self.has_hook_for, self.references))


class PodReferences(NamedTuple):
    """The pods that reference one object."""

    pods: int
    newest: Mark
    wants_changes: bool
    """Whether at least one of them wants something done about a change."""


class ReferenceChange(NamedTuple):
    """What a change of the index touched."""

    touched: Collection[ObjectId]
    """Objects whose references may have changed."""
    unreadable: Collection[PodNeeds]
    """Pods whose annotation about changes cannot be read, and has not been found so before."""
    hooked: Collection[PodNeeds]
    """Pods that want something done about changes, and wanted nothing before."""


@dataclass(slots=True)
class _HeldPod:
    """A pod, as the source lists it and as it was registered."""

    listed: PodNeeds | None = None
    source: SourceName | None = None
    """Which source listed it."""
    registered: PodNeeds | None = None

    def needs(self) -> PodNeeds | None:
        """Return what both versions need together. Of the pod itself, the listed version counts."""
        if self.listed is None or self.registered is None:
            return self.listed or self.registered
        references = dict(self.listed.references)
        for wanted, uses in self.registered.references.items():
            references[wanted] = _both(references.get(wanted, _NO_USE), uses)
        both = self.listed, self.registered
        optional = frozenset(
            wanted
            for wanted in self.listed.optional | self.registered.optional
            if not any(each.requires(wanted) for each in both)
        )
        return self.listed._replace(references=references, optional=optional)


@dataclass(slots=True)
class ReferenceMemory:
    """The content of an index, which outlives it."""

    pods: dict[PodUid, _HeldPod] = field(default_factory=dict)
    objects: dict[ObjectId, dict[PodUid, Mark]] = field(default_factory=dict)
    """The marks of the pods that reference each object, in ascending order. No entry is empty."""
    mark: Mark = NO_MARK
    """The highest mark ever given."""


class ReferenceIndex:
    """The references to objects of one kind. Its size is bounded by the pods that are held."""

    def __init__(self, kind: ObjectKind, memory: ReferenceMemory) -> None:
        self._kind = kind
        self._memory = memory

    # --- entries ---------------------------------------------------------------------------------------

    def replace(self, source: SourceName, pods: Iterable[Pod]) -> ReferenceChange:
        """Note that ``source`` lists ``pods`` and no others, in place of any source that listed them."""
        listed = {pod.uid: pod for pod in pods}
        gone = [
            uid
            for uid, entry in self._memory.pods.items()
            if entry.source == source and uid not in listed
        ]
        return _together(
            chain(
                [self._list(source, pod) for pod in listed.values()],
                [self._unlist(uid) for uid in gone],
            )
        )

    def apply(self, changes: Iterable[PodChange]) -> ReferenceChange:
        """Note changes of listed pods. A pod names its source itself."""
        return _together(
            [
                self._unlist(change.pod.uid)
                if change.op is Op.REMOVE
                else self._list(SourceName(change.pod.source), change.pod)
                for change in changes
            ]
        )

    def register(self, pod: Pod) -> ReferenceChange:
        """Hold ``pod`` until it is unregistered; it replaces the version registered before."""
        entry = self._held(pod.uid)
        before, entry.registered = entry.needs(), _needs(pod, self._kind)
        return self._settle(pod.uid, before)

    def unregister(self, uid: PodUid) -> ReferenceChange:
        """Undo ``register``. Does nothing for a pod that is not registered."""
        entry = self._held(uid)
        before, entry.registered = entry.needs(), None
        return self._settle(uid, before)

    # --- questions -------------------------------------------------------------------------------------

    def get(self, uid: PodUid) -> PodNeeds | None:
        """Return what a pod needs; None if nobody holds it."""
        entry = self._memory.pods.get(uid)
        return entry.needs() if entry else None

    def mark(self, uid: PodUid, wanted: ObjectId) -> Mark | None:
        """Return the mark of a pod's reference; None if it does not reference the object."""
        return self._memory.objects.get(wanted, {}).get(uid)

    def objects(self) -> Collection[ObjectId]:
        """Return a view of the objects that any pod references, the longest referenced first."""
        return self._memory.objects.keys()

    @property
    def newest(self) -> Mark:
        """The mark of the latest reference to any object."""
        return self._memory.mark

    def references(self, wanted: ObjectId) -> PodReferences:
        """Return how many pods reference an object, and the newest mark."""
        marks = self._memory.objects.get(wanted)
        if not marks:
            return PodReferences(0, NO_MARK, wants_changes=False)
        wants_changes = any(True for _ in self.hooked_pods(wanted))
        return PodReferences(len(marks), next(reversed(marks.values())), wants_changes)

    def hooked_pods(self, wanted: ObjectId, up_to: Mark = EVERY_MARK) -> Iterator[PodNeeds]:
        """Yield the pods that want something done about changes, by ascending marks, up to ``up_to``."""
        for uid, mark in self._memory.objects.get(wanted, {}).items():
            needs = self._memory.pods[uid].needs()
            if mark <= up_to and needs is not None and needs.has_hook_for(wanted):
                yield needs

    def pods_of(self, wanted: ObjectId) -> Iterator[PodNeeds]:
        """Yield the pods that reference an object, by ascending marks."""
        for uid in self._memory.objects.get(wanted, {}):
            needs = self._memory.pods[uid].needs()
            if needs is not None:
                yield needs

    def count_of(self, wanted: ObjectId) -> int:
        """Return how many pods reference an object."""
        return len(self._memory.objects.get(wanted, {}))

    def counts(self) -> Iterator[tuple[ObjectId, int]]:
        """Yield each object with the number of pods that reference it, the longest referenced first."""
        for wanted, marks in self._memory.objects.items():
            yield wanted, len(marks)

    def pods(self) -> int:
        """Return how many pods reference anything."""
        return len({uid for marks in self._memory.objects.values() for uid in marks})

    # --- bookkeeping -----------------------------------------------------------------------------------

    def _held(self, uid: PodUid) -> _HeldPod:
        return self._memory.pods.setdefault(uid, _HeldPod())

    def _list(self, source: SourceName, pod: Pod) -> ReferenceChange:
        entry = self._held(pod.uid)
        before, entry.listed = entry.needs(), _needs(pod, self._kind)
        entry.source = source
        return self._settle(pod.uid, before)

    def _unlist(self, uid: PodUid) -> ReferenceChange:
        entry = self._held(uid)
        before, entry.listed = entry.needs(), None
        entry.source = None
        return self._settle(uid, before)

    def _settle(self, uid: PodUid, before: PodNeeds | None) -> ReferenceChange:
        """Bring the objects in line with what the pod ``uid`` needs by now."""
        after = self._memory.pods[uid].needs()
        if after is None:
            del self._memory.pods[uid]
        if after == before:
            return ReferenceChange((), (), ())
        old = before.references if before else {}
        new = after.references if after else {}
        for wanted in new:
            if wanted not in old:
                self._memory.mark = Mark(self._memory.mark + 1)
                self._memory.objects.setdefault(wanted, {})[uid] = self._memory.mark
        for wanted in old:
            if wanted not in new:
                self._release(wanted, uid)
        touched = {**old, **new}.keys()
        return ReferenceChange(
            touched, _newly_unreadable(before, after), _newly_hooked(before, after)
        )

    def _release(self, wanted: ObjectId, uid: PodUid) -> None:
        marks = self._memory.objects[wanted]
        del marks[uid]
        if not marks:
            del self._memory.objects[wanted]


def _needs(pod: Pod, kind: ObjectKind) -> PodNeeds:
    """Return what ``pod`` needs: nothing if it is a mirror or ran to its end."""
    hook, hook_error = _hook(pod)
    needs = PodNeeds(
        uid=pod.uid,
        name=pod.display_name,
        namespace=pod.namespace,
        origin=origin_of(pod),
        references={},
        hook=hook,
        hook_error=hook_error,
        is_ending=pod.is_terminal or pod.is_deleting,
    )
    if pod.is_mirror or pod.is_terminal:
        return needs
    references: dict[ObjectId, frozenset[Use]] = {}
    required: set[ObjectId] = set()
    for reference in pod_references(pod.document):
        if reference.kind is kind:
            wanted = needs.object(kind, reference.name)
            references[wanted] = _both(references.get(wanted, _NO_USE), _only(reference.use))
            if not reference.is_optional:
                required.add(wanted)
    optional = frozenset(references.keys() - required) or _NONE
    return needs._replace(references=references, optional=optional)


@cache
def _only(use: Use) -> frozenset[Use]:
    return frozenset({use})


@cache
def _both(some: frozenset[Use], others: frozenset[Use]) -> frozenset[Use]:
    """Return the union. It is cached, so that thousands of references share a few sets."""
    return some | others


def _hook(pod: Pod) -> tuple[ChangeHook | None, str]:
    try:
        return change_hook(pod.annotations.get(ON_OBJECT_CHANGE, "")), ""
    except ChangeHookError as error:
        return None, str(error)


def _newly_unreadable(before: PodNeeds | None, after: PodNeeds | None) -> tuple[PodNeeds, ...]:
    if after is None or not after.hook_error or not after.references:
        return ()
    is_known = before is not None and before.references and before.hook_error == after.hook_error
    return () if is_known else (after,)


def _newly_hooked(before: PodNeeds | None, after: PodNeeds | None) -> tuple[PodNeeds, ...]:
    if after is None or not after.is_hooked:
        return ()
    return () if before is not None and before.is_hooked else (after,)


def _together(entries: Iterable[ReferenceChange]) -> ReferenceChange:
    touched: dict[ObjectId, None] = {}
    unreadable: list[PodNeeds] = []
    hooked: list[PodNeeds] = []
    for entry in entries:
        touched |= dict.fromkeys(entry.touched)
        unreadable += entry.unreadable
        hooked += entry.hooked
    return ReferenceChange(touched.keys(), unreadable, hooked)
