"""What is told of the step from one version of an object to the next.

The one place that says what counts as added, modified or deleted, and which keys that is about. Whether
there was a step at all is for those to say who hold the versions.
"""

from __future__ import annotations

from manifests.objects.values import changed_keys
from messages.objects import Change, ObjectChanged, ObjectId, ObjectValue


def object_change(
    wanted: ObjectId,
    before: ObjectValue | None,
    after: ObjectValue | None,
    gone_version: str = "",
) -> ObjectChanged:
    """Return what is told of ``wanted`` when ``after`` takes the place of ``before``.

    None is that there is no such object, which it cannot be on both sides. A deletion has the UID of
    the last version, and ``gone_version`` for its version; that of the last one where it is empty.
    """
    newest = after or before
    assert newest is not None  # noqa: S101  # nothing came of nothing
    version = newest.resource_version
    if after is None:
        change, version = Change.DELETED, gone_version or version
    else:
        change = Change.MODIFIED if before else Change.ADDED
    return ObjectChanged(
        object=wanted,
        change=change,
        uid=newest.uid,
        resource_version=version,
        keys=changed_keys(before, after),
    )
