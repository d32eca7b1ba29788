"""Whether a container that somebody made is of the specification that there is now."""

from __future__ import annotations

import pytest

from manifests.container_hashes import container_hash, hash_of_image, is_unchanged
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
    other = made("docker.io/library/busybox:latest", written)
    assert is_unchanged(written, "busybox", made("", written))
    assert is_unchanged(written, "busybox", made("", ""))
    assert not is_unchanged(container_hash("main", "other"), "other", other)


def test_where_the_uid_does_not_tell_it_all_that_the_manifest_says_of_a_container_counts() -> None:
    wanted = container_hash("main", "busybox", "two")
    assert hash_of_image(wanted) == container_hash("main", "busybox")
    assert is_unchanged(wanted, "busybox", made("", wanted, is_foreign=False))
    earlier = made("busybox", container_hash("main", "busybox", "one"), is_foreign=False)
    assert not is_unchanged(wanted, "busybox", earlier)
    # A pod whose UID tells its changes is another pod, and never has the containers of this one.
    assert is_unchanged(container_hash("main", "busybox"), "busybox", earlier)


def test_a_container_that_was_made_with_the_hash_of_its_image_alone_stays_as_it_is() -> None:
    wanted = container_hash("main", "busybox", "two")
    of_image = made("", container_hash("main", "busybox"), is_foreign=False)
    assert is_unchanged(wanted, "busybox", of_image)
    assert is_unchanged(wanted, "busybox", made("busybox:latest"))
    assert not is_unchanged(container_hash("main", "other", "two"), "other", of_image)


@pytest.mark.parametrize("is_foreign", [True, False])
def test_a_container_that_does_not_tell_counts_as_made_of_what_was_there_at_first(
    is_foreign: bool,  # noqa: FBT001
) -> None:
    wanted = container_hash("main", "busybox", "two")
    of_image = made("", container_hash("main", "busybox"), is_foreign=is_foreign)
    assert is_unchanged(wanted, "busybox", of_image, "two")
    assert not is_unchanged(wanted, "busybox", of_image, "one")
    # What an instance tells itself counts more.
    assert is_unchanged(wanted, "busybox", made("", wanted, is_foreign=is_foreign), "one")
    assert not is_unchanged(wanted, "busybox", made("busybox:latest"), "one")


def test_a_hash_that_cannot_be_computed_counts_for_foreign_containers_alone() -> None:
    image = "docker.io/library/busybox:1"
    wanted = container_hash("main", "busybox:1")
    assert is_unchanged(wanted, "busybox:1", made(image))
    assert not is_unchanged(wanted, "busybox:1", made(image, is_foreign=False))


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
    assert (
        is_unchanged(container_hash("main", wanted), wanted, made(seen, image_id=seen_id))
        is is_same
    )
