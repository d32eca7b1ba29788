"""What is found mounted at the start, and whether mounts can propagate."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from volumes.mounts.adoption import MountVerdict, WantedMount, verdicts_at_start
from volumes.mounts.mount_table import MountPoint
from volumes.mounts.propagation import propagation_trouble

PODS = "/var/lib/actorlet/pods"
SECRET = f"{PODS}/u1/volumes/kubernetes.io~secret/keys"
PART = f"{PODS}/u1/volume-subpaths/data/main/0"


def mount(path: str, kind: str = "tmpfs", size: int | None = None, *tags: str) -> MountPoint:
    options = frozenset({"rw"} if size is None else {"rw", f"size={size >> 10}k"})
    return MountPoint(
        number=1,
        root="/",
        path=path,
        options=frozenset({"rw"}),
        tags=frozenset(tags),
        kind=kind,
        super_options=options,
    )


WANTED = {SECRET: WantedMount(kind="tmpfs", size=4096), PART: WantedMount(kind=None)}


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        (mount(SECRET, "tmpfs", 4096), MountVerdict.KEPT),
        (mount(SECRET, "tmpfs", 8192), MountVerdict.RESIZED),
        (mount(SECRET, "ext4"), MountVerdict.WRONG),
        (mount(PART, "ext4"), MountVerdict.KEPT),
        (mount(f"{PART}/below"), MountVerdict.FOREIGN),
        (mount(f"{PODS}/u1/volumes/kubernetes.io~secret/old"), MountVerdict.STRAY),
        (mount(f"{PODS}/u2/volume-subpaths/data/main/0"), MountVerdict.STRAY),
        (mount(f"{SECRET}/by-a-container"), MountVerdict.FOREIGN),
        (mount(f"{PODS}/u1/containers/main/x"), MountVerdict.FOREIGN),
        (mount(PODS), MountVerdict.FOREIGN),
    ],
)
def test_each_mount_has_its_verdict(found: MountPoint, verdict: MountVerdict) -> None:
    assert verdicts_at_start([found], PODS, WANTED) == {found.path: verdict}


def test_a_mount_that_hides_another_one_is_told() -> None:
    found = [mount(SECRET, "tmpfs", 4096)] * 2
    assert verdicts_at_start(found, PODS, WANTED) == {SECRET: MountVerdict.STACKED}
    deep = [mount(f"{SECRET}/deep")] * 2
    assert verdicts_at_start(deep, PODS, WANTED) == {f"{SECRET}/deep": MountVerdict.FOREIGN}


def test_what_is_mounted_elsewhere_is_nobodys_business() -> None:
    assert verdicts_at_start([mount("/"), mount(f"{PODS}-other/u1")], PODS, WANTED) == {}


@given(st.lists(st.sampled_from(["u1", "volumes", "a", "volume-subpaths", "b"]), max_size=7))
def test_nothing_that_a_container_may_have_mounted_is_ever_a_stray(names: list[str]) -> None:
    path = "/".join((PODS, *names))
    [verdict] = verdicts_at_start([mount(path)], PODS, {}).values()
    is_place = names[1:2] == ["volumes"] and len(names) == 4
    is_part = names[1:2] == ["volume-subpaths"] and len(names) == 5
    assert (verdict is MountVerdict.STRAY) == (is_place or is_part)


NODE = [
    mount("/", "ext4", None),
    mount("/shared", "ext4", None, "shared:1"),
    mount("/follows", "ext4", None, "master:1"),
]


@pytest.mark.parametrize(
    ("path", "wanted", "trouble"),
    [
        ("/data", "None", ""),
        ("/data", "", ""),
        ("/shared/data", "Bidirectional", ""),
        ("/shared/data", "HostToContainer", ""),
        ("/follows", "HostToContainer", ""),
        ("/follows", "Bidirectional", "'/follows' but it is not a shared mount"),
        ("/data", "Bidirectional", "path '/data' is mounted on '/' but it is not a shared mount"),
        ("/data", "HostToContainer", "'/' but it is not a shared or slave mount"),
        ("/sharedx", "Bidirectional", "is mounted on '/' but"),
    ],
)
def test_mounts_propagate_only_where_the_node_lets_them(
    path: str, wanted: str, trouble: str
) -> None:
    found = propagation_trouble(NODE, path, wanted)
    assert trouble in found
    assert bool(found) == bool(trouble)
