"""What the worker of a pod is told of its volumes."""

from __future__ import annotations

from typing import Final

import pytest

from actors.volumes.kept_volumes import KeptVolume, Version, VolumesOfPod, answer_of
from actors.volumes.making.forms import form_of
from messages.objects import ObjectId, ObjectKind
from messages.pods import PodUid

DB: Final = ObjectId(kind=ObjectKind.SECRET, namespace="shop", name="db")
OLD, NEW = Version(1, "100"), Version(2, "200")


@pytest.mark.parametrize(
    ("first", "second", "shown"),
    [(OLD, NEW, {DB: "100"}), (NEW, OLD, {DB: "100"}), (NEW, NEW, {DB: "200"}), (NEW, None, {})],
)
def test_an_object_in_two_volumes_counts_as_shown_at_its_oldest_version(
    first: Version, second: Version | None, shown: dict[ObjectId, str]
) -> None:
    pod = VolumesOfPod(pod=None)
    for name, version in (("a", first), ("b", second)):
        volume = KeptVolume(source={}, form=form_of({"emptyDir": {}}), objects=(DB,))
        volume.versions = {} if version is None else {DB: version}
        pod.volumes[name] = volume
    assert answer_of(PodUid("uid-web"), pod).shown == shown
