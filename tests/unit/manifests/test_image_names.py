"""Names of images: what they mean, and which ones nobody could have."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manifests.image_names import ImageName, default_pull_policy, parse_image_name

SHA = "sha256:" + "a" * 64


def name_of(image: str) -> ImageName:
    found = parse_image_name(image)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("image", "in_full", "asked_for"),
    [
        ("nginx", "docker.io/library/nginx:latest", "nginx:latest"),
        ("nginx:1.25", "docker.io/library/nginx:1.25", "nginx:1.25"),
        ("team/app", "docker.io/team/app:latest", "team/app:latest"),
        ("docker.io/nginx:1", "docker.io/library/nginx:1", "docker.io/nginx:1"),
        ("index.docker.io/team/app:1", "docker.io/team/app:1", "index.docker.io/team/app:1"),
        (f"app@{SHA}", f"docker.io/library/app@{SHA}", f"app@{SHA}"),
        (f"app:1@{SHA}", f"docker.io/library/app:1@{SHA}", f"app:1@{SHA}"),
        ("localhost/app", "localhost/app:latest", "localhost/app:latest"),
        ("localhost:5000/a/b:v1", "localhost:5000/a/b:v1", "localhost:5000/a/b:v1"),
        ("[::1]:5000/app:1", "[::1]:5000/app:1", "[::1]:5000/app:1"),
        ("Registry/team/app:v1", "Registry/team/app:v1", "Registry/team/app:v1"),
        ("a__b.c-d--e", "docker.io/library/a__b.c-d--e:latest", "a__b.c-d--e:latest"),
    ],
)
def test_a_name_means_one_image_of_one_registry(image: str, in_full: str, asked_for: str) -> None:
    name = name_of(image)
    assert (name.in_full, name.asked_for) == (in_full, asked_for)


@pytest.mark.parametrize(
    ("image", "repository", "tag", "digest"),
    [
        ("host:1/path/x:t", "host:1/path/x", "t", ""),
        ("x:t", "docker.io/library/x", "t", ""),
        (f"x@{SHA}", "docker.io/library/x", "", SHA),
    ],
)
def test_a_name_has_its_parts(image: str, repository: str, tag: str, digest: str) -> None:
    name = name_of(image)
    assert (name.repository, name.tag, name.digest) == (repository, tag, digest)


@pytest.mark.parametrize(
    "image",
    [
        "",
        " ",
        "No Such",
        "Upper",
        "team/Upper",
        "app:",
        "app:bad/tag:",
        "app@sha256:12",
        "app@sha256:" + "A" * 64,
        "app@md5:" + "a" * 32,
        "app@" + SHA + "0",
        "-app",
        "app-",
        "a..b",
        "a___b",
        "host-/app",
        "ho..st/app",
        "http://host/app",
        "host:port/app",
        "/app",
        "app/",
        "a//b",
        "app;reboot",
        "$(reboot)",
        "`reboot`",
        "app|sh",
        "app&",
        "../app",
        "app\n",
        "app\x00",
        "app\x1b[2J",
        "app:1\n2",
        "\u212aube",
        "a" * 64,
        "x" * 256,
        "t:" + "x" * 129,
        "a" * 100_000,
        "a-" * 50_000 + "A",
    ],
)
def test_what_no_registry_could_have_is_no_name_of_an_image(image: str) -> None:
    assert parse_image_name(image) is None


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("nginx", "Always"),
        ("nginx:latest", "Always"),
        ("nginx:1.25", "IfNotPresent"),
        ("registry.example:5000/team/app", "Always"),
        ("Registry.Example/team/app:v1", "IfNotPresent"),
        (f"app@{SHA}", "IfNotPresent"),
        (f"app:latest@{SHA}", "Always"),
        ("No Such", "IfNotPresent"),
    ],
)
def test_an_image_is_pulled_always_if_its_tag_may_move(image: str, policy: str) -> None:
    assert default_pull_policy(image) == policy


@given(st.text(max_size=40))
def test_what_can_be_read_has_no_character_that_a_shell_obeys(image: str) -> None:
    if parse_image_name(image) is not None:
        assert set(image) <= set(
            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/:@[]+"
        )


@given(
    st.from_regex(
        r"([a-z]{1,8}\.[a-z]{2}(:[0-9]{1,4})?/)?[a-z0-9]{1,8}(/[a-z]{1,5}){0,2}(:[a-z]{1,5})?",
        fullmatch=True,
    )
)
def test_a_name_in_full_means_the_same(image: str) -> None:
    name = name_of(image)
    again = name_of(name.in_full)
    assert (again.in_full, again.repository) == (name.in_full, name.repository)
