"""An image that one pod's credentials pulled is not given to a pod without them."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import MutableMapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from manifests.image_names import parse_image_name
from messages.container_runtime import FindImage
from messages.objects import ObjectId, ObjectValue
from messages.pods import Pod
from runtimes.cri.images.keyring import Credential, RegistryAuth, SecretSource
from runtimes.cri.images.messages import ImageMemory
from runtimes.cri.images.options import (
    GarbageOptions,
    ImageOptions,
    VerificationOptions,
    VerificationPolicy,
)
from runtimes.cri.images.pull_records import MOST_SECRETS, PullRecords
from tests.support.images.image_stage import (
    ImageStage,
    image_id,
    image_stage,
    pod_with,
    pull_secret,
    refusal,
)

APP = "quay.io/team/app:1"
ALICE, BOB = pull_secret("alice", "alice"), pull_secret("bob", "bob")
WEB, THIEF = pod_with("web", "alice"), pod_with("thief")


def options(
    policy: VerificationPolicy = VerificationPolicy.NOT_PRELOADED,
    *allowlist: str,
    records: Path | None = None,
) -> ImageOptions:
    return ImageOptions(
        verification=VerificationOptions(policy=policy, allowlist=allowlist),
        garbage=GarbageOptions(high_percent=100),
        records=records,
    )


def finds(
    stage: ImageStage,
    pod: Pod,
    secrets: dict[ObjectId, ObjectValue] | None = None,
    image: str = APP,
) -> bool:
    stage.send(FindImage(image=image, pod=pod, objects=secrets or {}))
    return bool(image_id(stage.answer()))


def pulled_by_alice(stage: ImageStage) -> None:
    stage.service.offer(APP, users=("alice",))
    assert image_id(stage.pull(APP, WEB, ALICE))


def test_a_pod_without_the_credentials_has_to_pull_the_image_and_fails() -> None:
    with image_stage(options=options()) as stage:
        pulled_by_alice(stage)
        assert finds(stage, WEB, ALICE)
        assert not finds(stage, THIEF)
        assert not finds(stage, pod_with("thief", "bob"), BOB)
        assert "authorization failed" in refusal(stage.pull(APP, THIEF)).message


def test_a_pod_that_can_pull_the_image_itself_gets_it_from_then_on() -> None:
    with image_stage(options=options()) as stage:
        stage.service.offer(APP, users=("alice", "bob"))
        stage.pull(APP, WEB, ALICE)
        pod = pod_with("shop", "bob")
        assert not finds(stage, pod, BOB)
        assert image_id(stage.pull(APP, pod, BOB))
        assert finds(stage, pod, BOB)
        assert finds(stage, WEB, ALICE)


def test_a_secret_is_known_by_its_name_after_its_password_changed_and_by_its_content() -> None:
    with image_stage(options=options()) as stage:
        pulled_by_alice(stage)
        assert finds(stage, WEB, pull_secret("alice", "alice-with-another-password"))
        same_content = pull_secret("copy", "alice")
        assert finds(stage, pod_with("shop", "copy"), same_content)


def test_an_image_that_anybody_can_pull_is_everybodys() -> None:
    with image_stage(options=options()) as stage:
        stage.service.offer(APP)
        assert image_id(stage.pull(APP, THIEF))
        assert finds(stage, WEB, ALICE)
        assert finds(stage, THIEF)


def test_an_image_that_is_pulled_while_others_are_looked_at_stays_somebodys() -> None:
    garbage = GarbageOptions(high_percent=85)
    with image_stage(options=replace(options(), garbage=garbage)) as stage:
        stage.jobs.hangs = True
        stage.play.advance(300.0)
        (measured,) = stage.jobs.waiting
        stage.jobs.hangs = False
        pulled_by_alice(stage)
        measured.do()
        stage.play.settle()
        assert not finds(stage, THIEF)
        assert finds(stage, WEB, ALICE)


def test_of_two_pods_that_one_pull_serves_both_may_have_the_image() -> None:
    with image_stage(options=options()) as stage:
        stage.service.offer(APP, users=("alice",))
        stage.service.holds_pulls = True
        shop, copy = pod_with("shop", "copy"), pull_secret("copy", "alice")
        stage.ask(APP, WEB, ALICE)
        stage.ask(APP, shop, copy)
        stage.service.let_go()
        stage.play.settle()
        assert len(stage.answered()) == 2
        rotated = pull_secret("copy", "somebody-else")
        assert finds(stage, shop, rotated)


@pytest.mark.parametrize(
    ("policy", "allowlist", "preloaded", "pulled"),
    [
        (VerificationPolicy.NEVER, (), True, True),
        (VerificationPolicy.NOT_PRELOADED, (), True, False),
        (VerificationPolicy.NOT_ALLOWLISTED, (), False, False),
        (VerificationPolicy.NOT_ALLOWLISTED, ("quay.io/team/app",), True, True),
        (VerificationPolicy.NOT_ALLOWLISTED, ("quay.io/team/*",), True, True),
        (VerificationPolicy.NOT_ALLOWLISTED, ("quay.io/*",), True, True),
        (VerificationPolicy.NOT_ALLOWLISTED, ("quay.io/team", "ghcr.io/*"), False, False),
        (VerificationPolicy.ALWAYS, ("quay.io/team/app",), False, False),
    ],
)
def test_the_policy_says_whose_images_are_free(
    policy: VerificationPolicy, allowlist: tuple[str, ...], *, preloaded: bool, pulled: bool
) -> None:
    with image_stage(options=options(policy, *allowlist)) as stage:
        stage.service.store(APP)
        assert finds(stage, THIEF) is preloaded
    with image_stage(options=options(policy, *allowlist)) as stage:
        pulled_by_alice(stage)
        assert finds(stage, THIEF) is pulled


def test_another_name_of_the_same_image_has_to_be_shown_as_well() -> None:
    with image_stage(options=options()) as stage:
        pulled_by_alice(stage)
        (image,) = stage.service.images.values()
        image.names.add("quay.io/other/app:1")
        assert not finds(stage, WEB, ALICE, "quay.io/other/app:1")
        image.names.add("quay.io/team/app:2")
        assert finds(stage, WEB, ALICE, "quay.io/team/app:2")


# --- records ------------------------------------------------------------------------------------------------


def test_the_next_process_knows_who_pulled_what(tmp_path: Path) -> None:
    file = tmp_path / "images" / "pulls.json"
    with image_stage(options=options(records=file)) as stage:
        pulled_by_alice(stage)
        images = stage.service.images
    assert "canary" not in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with image_stage(options=options(records=file)) as stage:
        stage.service.images = images
        assert finds(stage, WEB, ALICE)
        assert not finds(stage, THIEF)
        assert finds(stage, pod_with("shop", "copy"), pull_secret("copy", "alice"))


def test_a_pull_that_the_process_before_did_not_see_ending_is_somebodys(tmp_path: Path) -> None:
    file = tmp_path / "pulls.json"
    with image_stage(options=options(records=file)) as stage:
        stage.service.holds_pulls = True
        stage.ask(APP, WEB, ALICE)
    with image_stage(options=options(records=file)) as stage:
        stage.service.store(APP)
        assert not finds(stage, THIEF)
        assert not finds(stage, WEB, ALICE)
        stage.service.offer(APP, users=("alice",))
        assert image_id(stage.pull(APP, WEB, ALICE))
        assert finds(stage, WEB, ALICE)


def test_a_thief_settles_nothing_about_a_pull_whose_end_nobody_knows() -> None:
    with image_stage(options=options()) as stage:
        stage.service.offer(APP, users=("alice",))
        stage.service.holds_pulls = True
        stage.ask(APP, WEB, ALICE)
        stage.service.cut()
        stage.play.settle()
        stage.answered()
        stage.service.holds_pulls = False
        stage.service.store(APP)
        for _ in range(2):
            assert not finds(stage, THIEF)
            refusal(stage.pull(APP, THIEF))
        assert image_id(stage.pull(APP, WEB, ALICE))
        assert finds(stage, WEB, ALICE)


def test_an_image_that_is_not_there_was_not_pulled_and_may_be_brought_by_hand() -> None:
    with image_stage(options=options()) as stage:
        stage.service.holds_pulls = True
        stage.ask(APP, WEB, ALICE)
        stage.service.cut()
        stage.play.settle()
        stage.answered()
        assert not finds(stage, WEB, ALICE)
        stage.service.store(APP)
        assert finds(stage, THIEF)


def test_a_pull_that_failed_for_certain_leaves_nothing(tmp_path: Path) -> None:
    file = tmp_path / "pulls.json"
    with image_stage(options=options(records=file)) as stage:
        refusal(stage.pull(APP, WEB, ALICE))
        stage.service.store(APP)
        assert finds(stage, THIEF)


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b'{"version": 2}', b'{"version":1,"salt":"xx","begun":[],"pulled":{}}'],
)
def test_records_that_cannot_be_read_are_set_aside_and_done_without(
    tmp_path: Path, content: bytes
) -> None:
    file = tmp_path / "pulls.json"
    file.write_bytes(content)
    with image_stage(options=options(records=file)) as stage:
        stage.service.store(APP)
        assert finds(stage, THIEF)
        assert (tmp_path / "pulls.unusable").read_bytes() == content


def test_records_that_cannot_be_written_stop_no_pull(tmp_path: Path) -> None:
    file = tmp_path / "pulls.json"
    file.mkdir()
    file.joinpath("x").touch()
    with image_stage(options=options(records=file)) as stage:
        pulled_by_alice(stage)
        assert stage.memory.writing_trouble
        assert not finds(stage, THIEF)
        file.joinpath("x").unlink()
        file.rmdir()
        assert image_id(stage.pull(APP, WEB, ALICE))
        assert not stage.memory.writing_trouble
        assert os.listdir(tmp_path) == ["pulls.json"]  # noqa: PTH208


def test_calls_wait_until_the_records_are_read(tmp_path: Path) -> None:
    with image_stage(options=options(records=tmp_path / "pulls.json")) as stage:
        stage.memory.has_records = False
        stage.service.store(APP)
        stage.send(FindImage(image=APP, pod=THIEF))
        assert stage.answered() == {}
        stage.crash()
        assert len(stage.answered()) == 1


def test_the_memory_of_a_process_shows_no_credentials() -> None:
    with image_stage(options=options()) as stage:
        pulled_by_alice(stage)
        memory: ImageMemory = stage.memory
        assert "canary" not in repr(memory)
        assert b"canary" not in memory.records.encoded()


def test_the_record_of_an_image_goes_with_the_image(tmp_path: Path) -> None:
    file = tmp_path / "pulls.json"
    with image_stage(options=replace(options(records=file), garbage=GarbageOptions())) as stage:
        pulled_by_alice(stage)
        stage.play.advance(300.0)
        assert "quay.io/team/app" in file.read_text()
        stage.service.images.clear()
        stage.play.advance(300.0)
        assert "quay.io/team/app" not in file.read_text()


def kubelet_record(directory: Path, image_id: str, repository: str, **access: object) -> None:
    """Write down as a kubelet does that it has pulled an image."""
    record = {
        "kind": "ImagePulledRecord",
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "lastUpdatedTime": "2026-09-26T06:36:38Z",
        "imageRef": image_id,
        "credentialMapping": {repository: access},
    }
    name = f"sha256-{hashlib.sha256(image_id.encode()).hexdigest()}"
    (directory / "pulled").mkdir(parents=True, exist_ok=True)
    (directory / "pulled" / name).write_text(json.dumps(record))


ALICES = {"namespace": "default", "name": "alice", "uid": "uid-alice", "credentialHash": "07ab"}
"""How a kubelet remembers Alice's Secret."""


def test_what_a_kubelet_pulled_with_a_secret_is_for_those_who_have_it(tmp_path: Path) -> None:
    of_kubelet = replace(options(), kubelet_records=tmp_path, records=tmp_path / "pulls.json")
    with image_stage(options=of_kubelet) as stage:
        stage.service.store(APP)
        images = stage.service.images
        kubelet_record(tmp_path, next(iter(images)), "quay.io/team/app", kubernetesSecrets=[ALICES])
    with image_stage(options=of_kubelet) as stage:
        stage.service.images = images
        assert not finds(stage, THIEF)
        assert finds(stage, WEB, ALICE)
        stage.service.offer(APP, users=("bob",))
        assert image_id(stage.pull(APP, pod_with("shop", "bob"), BOB))
    with image_stage(options=of_kubelet) as stage:
        stage.service.images = images
        assert finds(stage, WEB, ALICE)
        assert finds(stage, pod_with("shop", "bob"), BOB)
        assert not finds(stage, THIEF)


@pytest.mark.parametrize(
    ("access", "thief_may"),
    [
        ({"nodePodsAccessible": True}, True),
        ({"nodePodsAccessible": "yes"}, False),
        ({"kubernetesServiceAccounts": [{"namespace": "default", "name": "web", "uid": "1"}]}, False),
        ({"kubernetesSecrets": [{"name": "alice"}]}, False),
        ({}, False),
    ],
)  # fmt: skip
def test_what_a_kubelet_says_of_all_its_pods_counts_too(
    tmp_path: Path, access: dict[str, object], *, thief_may: bool
) -> None:
    of_kubelet = replace(options(), kubelet_records=tmp_path, records=tmp_path / "pulls.json")
    with image_stage(options=of_kubelet) as stage:
        stage.service.store(APP)
        images = stage.service.images
        kubelet_record(tmp_path, next(iter(images)), "quay.io/team/app", **access)
    with image_stage(options=of_kubelet) as stage:
        stage.service.images = images
        assert finds(stage, THIEF) is thief_may


def test_a_pull_whose_end_a_kubelet_did_not_see_is_somebodys(tmp_path: Path) -> None:
    (tmp_path / "pulling").mkdir()
    intent = {
        "kind": "ImagePullIntent",
        "apiVersion": "kubelet.config.k8s.io/v1alpha1",
        "image": APP,
    }
    (tmp_path / "pulling" / "sha256-1").write_text(json.dumps(intent))
    of_kubelet = replace(options(), kubelet_records=tmp_path, records=tmp_path / "pulls.json")
    with image_stage(options=of_kubelet) as stage:
        stage.service.store(APP)
        assert not finds(stage, THIEF)


BROKEN = [
    b"",
    b"[]",
    b"{}",
    b'{"kind":"ImagePulledRecord","apiVersion":1,"imageRef":"a"}',
    b'{"kind":"ImagePulledRecord","apiVersion":"v1","imageRef":"a"}',
    b'{"kind":"ImagePullIntent","apiVersion":"kubelet.config.k8s.io/v1","image":"-"}',
    b"[" * 100_000,
]


def test_records_of_a_kubelet_that_cannot_be_read_keep_nothing_from_starting(
    tmp_path: Path, logs: list[MutableMapping[str, Any]]
) -> None:
    for folder in ("pulled", "pulling"):
        (tmp_path / folder / "folder").mkdir(parents=True)
        for number, content in enumerate(BROKEN):
            (tmp_path / folder / f"sha256-{number}").write_bytes(content)
    kubelet_record(tmp_path, "sha256:1", "Not/A:name", nodePodsAccessible=True)
    of_kubelet = replace(options(), kubelet_records=tmp_path, records=tmp_path / "pulls.json")
    with image_stage(options=of_kubelet) as stage:
        stage.service.store(APP)
        assert finds(stage, THIEF)
    warnings = [each["event"] for each in logs if each["log_level"] == "warning"]
    assert sorted(set(warnings)) == [
        "a kubelet's record of a pull cannot be read",
        "a kubelet's record of an image cannot be read",
    ]
    assert len(warnings) == 2 * (len(BROKEN) + 1)


@pytest.mark.parametrize("target", ["/proc/self/mem", "/proc/self/fdinfo/none", "pulled"])
def test_a_directory_of_a_kubelet_that_cannot_be_listed_is_done_without(
    tmp_path: Path, target: str
) -> None:
    (tmp_path / "pulled").symlink_to(target)
    of_kubelet = replace(options(), kubelet_records=tmp_path, records=tmp_path / "pulls.json")
    with image_stage(options=of_kubelet) as stage:
        stage.service.store(APP)
        assert finds(stage, THIEF)


def test_of_very_many_secrets_that_an_image_was_pulled_with_the_oldest_is_forgotten() -> None:
    image = parse_image_name(APP)
    assert image is not None
    records = PullRecords(b"salt")
    credentials = [
        Credential(
            auth=RegistryAuth(username=f"user-{number}"),
            source=SecretSource(namespace="shop", name=f"secret-{number}", uid="1"),
        )
        for number in range(MOST_SECRETS + 1)
    ]
    for credential in credentials:
        records.note_begin(image)
        records.note_pulled(image, "sha256:1", credential, [credential])
    policy = VerificationOptions()
    may = [records.may_have(image, "sha256:1", [each], policy) for each in credentials]
    assert may == [False] + [True] * MOST_SECRETS


def test_two_pulls_of_one_name_are_two_beginnings() -> None:
    image = parse_image_name(APP)
    assert image is not None
    records, policy = PullRecords(b"salt"), VerificationOptions()
    records.note_begin(image)
    records.note_begin(image)
    records.note_failure(image, is_certain=True)
    assert not records.may_have(image, "sha256:1", [], policy)
    records.note_failure(image, is_certain=True)
    assert records.may_have(image, "sha256:1", [], policy)
