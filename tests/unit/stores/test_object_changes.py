"""What is told of the step from one version of an object to the next."""

from __future__ import annotations

import pytest

from messages.objects import Change, ObjectChanged, ObjectId, ObjectKind, ObjectValue
from stores.objects.changes import object_change

WANTED = ObjectId(kind=ObjectKind.CONFIG_MAP, namespace="shop", name="db")


def version(number: int, uid: str = "u1", **data: bytes) -> ObjectValue:
    return ObjectValue(uid=uid, resource_version=str(number), data=data)


@pytest.mark.parametrize(
    ("before", "after", "change", "uid", "resource_version", "keys"),
    [
        (None, version(10, b=b"1", a=b"1"), Change.ADDED, "u1", "10", ("a", "b")),
        (None, version(10), Change.ADDED, "u1", "10", ()),
        (version(10, a=b"1", b=b"1"), version(11, a=b"2", b=b"1"), Change.MODIFIED, "u1", "11", ("a",)),
        (version(10, a=b"1"), version(11, a=b"1"), Change.MODIFIED, "u1", "11", ()),
        (version(10, a=b"1"), version(11, "u2", c=b"1"), Change.MODIFIED, "u2", "11", ("a", "c")),
        (version(10, "u2", a=b"1"), None, Change.DELETED, "u2", "10", ("a",)),
    ],
)  # fmt: skip
def test_a_step_is_told_by_what_it_leads_to(
    before: ObjectValue | None,
    after: ObjectValue | None,
    change: Change,
    uid: str,
    resource_version: str,
    keys: tuple[str, ...],
) -> None:
    assert object_change(WANTED, before, after) == ObjectChanged(
        object=WANTED, change=change, uid=uid, resource_version=resource_version, keys=keys
    )


def test_a_deletion_has_the_version_at_which_it_went_where_that_is_known() -> None:
    changed = object_change(WANTED, version(10), None, "12")
    assert (changed.uid, changed.resource_version) == ("u1", "12")


@pytest.mark.parametrize("before", [None, version(10)])
def test_an_object_that_is_there_has_its_own_version(before: ObjectValue | None) -> None:
    assert object_change(WANTED, before, version(13), "12").resource_version == "13"
