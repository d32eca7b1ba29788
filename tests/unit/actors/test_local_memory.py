"""What the holder of local objects remembers of those that are no more."""

from __future__ import annotations

from actors.objects.local_files import MAX_GONE, LocalMemory
from actors.objects.local_knowledge import KnownLocalObject
from manifests.objects.local import LocalObject
from messages.objects import ObjectId, ObjectKind, ObjectValue, Origin
from stores.objects.knowledge import LastKnown


def object_id(number: int) -> ObjectId:
    """Return which object ``app-1`` and so on is: each is made of another content."""
    name = f"app-{number}"
    return ObjectId(kind=ObjectKind.CONFIG_MAP, namespace="default", name=name, origin=Origin.LOCAL)


def known_object(number: int, version: int) -> KnownLocalObject:
    value = ObjectValue(uid="u", resource_version="0", data={})
    described = LocalObject(object=object_id(number), value=value)
    return KnownLocalObject(described, version, LastKnown(value=value, is_known=True))


def memory_of(*versions: int) -> LocalMemory:
    """Return one that held so many objects of these versions, and saw them all go in this order."""
    held = {object_id(number): known_object(number, each) for number, each in enumerate(versions)}
    memory = LocalMemory(told=held)
    for each in list(held):
        memory.note_gone(each)
    return memory


def test_only_so_many_that_went_are_remembered_and_the_first_is_forgotten_first() -> None:
    memory = memory_of(*range(MAX_GONE + 2))
    assert list(memory.gone) == [object_id(number) for number in range(2, MAX_GONE + 2)]
    assert memory.told == {}


def test_of_their_versions_the_highest_is() -> None:
    assert memory_of(7, 9, 8).highest_gone == 9
