"""Whether a container that somebody made is of the specification that there is now."""

from __future__ import annotations

import pytest

from manifests.container_hashes import container_hash, is_unchanged
from messages.pod_runtime import ContainerObserved, ContainerState

DIGEST = "sha256:" + "ab" * 32
OTHER = "sha256:" + "cd" * 32


def made(
    image: str, written: str = "0ld", image_id: str = "", *, is_foreign: bool = True
) -> ContainerObserved:
    return ContainerObserved(
        id="containerd://1",
        name="main",
        attempt=0,
        state=ContainerState.RUNNING,
        image=image,
        image_id=image_id,
        spec_hash=written,
        is_foreign=is_foreign,
    )


def test_the_hash_of_a_kubelet_since_1_31_says_it_whatever_the_image_is_called_there() -> None:
    written = container_hash("main", "busybox")
    assert is_unchanged("main", "busybox", made("", written))
    assert is_unchanged("main", "busybox", made("", ""))
    assert not is_unchanged("main", "other", made("docker.io/library/busybox:latest", written))


def test_a_hash_that_cannot_be_computed_counts_for_foreign_containers_alone() -> None:
    image = "docker.io/library/busybox:1"
    assert is_unchanged("main", "busybox:1", made(image))
    assert not is_unchanged("main", "busybox:1", made(image, is_foreign=False))


@pytest.mark.parametrize(
    ("wanted", "seen", "seen_id", "is_same"),
    [
        ("busybox", "docker.io/library/busybox:latest", "", True),
        ("busybox:1", "docker.io/library/busybox:2", "", False),
        ("registry.example/a:1", "registry.example/b:1", "", False),
        ("registry.example/a:1", f"registry.example/a:1@{DIGEST}", "", True),
        (
            f"registry.example/a@{DIGEST}",
            "registry.example/a:1",
            f"registry.example/a@{DIGEST}",
            True,
        ),
        (f"registry.example/a@{DIGEST}", f"registry.example/a@{OTHER}", "", False),
        ("registry.example/a:1", f"registry.example/a@{DIGEST}", "", True),
        ("registry.example/b:1", f"registry.example/a@{DIGEST}", "", False),
        ("registry.example/a:1", DIGEST, DIGEST, True),
        ("registry.example/a:1", "", "", True),
        ("no image", "registry.example/a:1", "", False),
    ],
)
def test_an_old_hash_is_kept_until_the_image_is_another_one(
    wanted: str,
    seen: str,
    seen_id: str,
    is_same: bool,  # noqa: FBT001
) -> None:
    assert is_unchanged("main", wanted, made(seen, image_id=seen_id)) is is_same
