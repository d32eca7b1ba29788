"""Images are pulled by a real runtime, from a registry that wants a password, is slow, or breaks."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from messages.container_runtime import ImageFound, PullImage, RuntimeFailureKind
from messages.objects import ObjectId, ObjectValue
from messages.units import Seconds
from runtimes.cri.images.options import GarbageOptions, ImageOptions
from runtimes.cri.wire import cri_pb2 as cri
from tests.support.agent.process import eventually
from tests.support.containers import needs
from tests.support.containers.containerd import Containerd
from tests.support.containers.cri_client import CriClient
from tests.support.containers.images import BUSYBOX, PAUSE, SERVER, LocalImage
from tests.support.containers.registry import Registry, registry_of
from tests.support.images.image_stage import image_id, pod_with, pull_secret, refusal
from tests.support.images.live_images import LiveImages, live_images

NAME = "registry.example"
APP = LocalImage(name=f"{NAME}/team/app:1")
POD = pod_with("web", "mine", "others")
MINE = pull_secret("mine", "me", NAME)
OTHERS = pull_secret("others", "other", f"{NAME}/team")
"""Is tried first, since its location says more."""


@pytest.fixture
def images(containerd: Containerd) -> Iterator[LiveImages]:
    with live_images(containerd.socket) as images:
        yield images


@pytest.fixture
def registry(containerd: Containerd) -> Iterator[Registry]:
    busybox = needs.busybox()
    assert busybox is not None
    with registry_of(NAME, [APP], busybox) as registry:
        containerd.add_registry(NAME, registry.port)
        yield registry


@pytest.fixture
def private(registry: Registry) -> Registry:
    registry.login = ("me", "canary-me")
    return registry


def sandbox_config(containerd: Containerd) -> cri.PodSandboxConfig:
    options = cri.NamespaceOption(network=cri.NODE)
    return cri.PodSandboxConfig(
        metadata=cri.PodSandboxMetadata(name="web", uid="uid-of-web", namespace="default"),
        linux=cri.LinuxPodSandboxConfig(
            cgroup_parent=containerd.cgroup,
            security_context=cri.LinuxSandboxSecurityContext(namespace_options=options),
        ),
    )


def run_sandbox(client: CriClient, containerd: Containerd) -> str:
    request = cri.RunPodSandboxRequest(config=sandbox_config(containerd))
    return client.call(request, cri.RunPodSandboxResponse).pod_sandbox_id


def create_container(client: CriClient, sandbox: str, containerd: Containerd, image: str) -> None:
    """Create a container that is never started: it has its image all the same."""
    request = cri.CreateContainerRequest(
        pod_sandbox_id=sandbox,
        config=cri.ContainerConfig(
            metadata=cri.ContainerMetadata(name="main"), image=cri.ImageSpec(image=image)
        ),
        sandbox_config=sandbox_config(containerd),
    )
    client.call(request, cri.CreateContainerResponse)


def test_an_image_that_is_there_is_found_by_each_of_its_names(images: LiveImages) -> None:
    there = images.find(BUSYBOX)
    assert isinstance(there, ImageFound)
    assert there.size > 100_000
    assert image_id(images.find("busybox:1.37")) == there.image_id
    assert images.find("busybox:none") == ImageFound(image_id="")


def test_an_image_is_pulled_without_credentials(images: LiveImages, registry: Registry) -> None:
    pulled = images.pull(APP.name)
    assert isinstance(pulled, ImageFound)
    assert pulled.size > 0
    assert pulled.pulled_in is not None
    assert image_id(images.find(APP.name)) == pulled.image_id
    assert registry.pulls == ["team/app:1"]


@pytest.mark.parametrize("secrets", [MINE, {**OTHERS, **MINE}], ids=["right", "wrong-then-right"])
def test_an_image_is_pulled_with_the_credentials_that_the_registry_takes(
    images: LiveImages, private: Registry, secrets: dict[ObjectId, ObjectValue]
) -> None:
    assert image_id(images.pull(APP.name, POD, secrets))
    assert private.pulls == ["team/app:1"]


@pytest.mark.parametrize("secrets", [OTHERS, {}], ids=["wrong", "none"])
def test_without_the_right_credentials_the_registrys_refusal_is_told(
    images: LiveImages, private: Registry, secrets: dict[ObjectId, ObjectValue]
) -> None:
    failure = refusal(images.pull(APP.name, POD, secrets))
    assert failure.kind is RuntimeFailureKind.IMAGE_PULL
    assert "401 Unauthorized" in failure.message
    assert "\n" not in failure.message
    assert "canary" not in failure.message
    assert private.pulls == []
    assert image_id(images.find(APP.name)) == ""


def test_an_image_that_the_registry_does_not_have_is_told(
    images: LiveImages, registry: Registry
) -> None:
    failure = refusal(images.pull(f"{NAME}/team/other:1"))
    assert failure.kind is RuntimeFailureKind.IMAGE_PULL
    assert failure.message.startswith("rpc error: code = NotFound desc = ")
    assert registry.refusals == 0


def test_a_slow_registry_is_waited_for_by_all_pods_at_once(
    images: LiveImages, registry: Registry
) -> None:
    registry.gate = threading.Event()
    for ref in (1, 2, 3):
        images.ask(PullImage(image=APP.name, pod=pod_with(f"web-{ref}")), ref)
    eventually(lambda: bool(registry.pulls))
    assert images.find(APP.name) == ImageFound(image_id="")
    registry.gate.set()
    answers = {answer.ref: answer.outcome for answer in (images.answers.next() for _ in range(3))}
    assert len({image_id(outcome) for outcome in answers.values()}) == 1
    assert set(answers) == {1, 2, 3}
    assert registry.pulls == ["team/app:1"]


def test_a_connection_that_breaks_off_in_the_middle_is_a_failed_pull_and_the_next_one_succeeds(
    images: LiveImages, registry: Registry
) -> None:
    registry.cut_after = 100
    failure = refusal(images.pull(APP.name))
    assert failure.kind is RuntimeFailureKind.IMAGE_PULL
    assert image_id(images.find(APP.name)) == ""
    registry.cut_after = None
    assert image_id(images.pull(APP.name))


def test_a_manifest_of_garbage_is_a_failed_pull(images: LiveImages, registry: Registry) -> None:
    registry.spoil()
    failure = refusal(images.pull(APP.name))
    assert failure.kind is RuntimeFailureKind.IMAGE_PULL
    assert len(failure.message) < 2100


def test_a_runtime_that_is_killed_during_a_pull_leaves_the_outcome_uncertain(
    containerd: Containerd, images: LiveImages, registry: Registry
) -> None:
    registry.gate = threading.Event()
    images.ask(PullImage(image=APP.name, pod=pod_with()))
    eventually(lambda: bool(registry.pulls))
    containerd.kill()
    failure = refusal(images.answers.next().outcome)
    assert failure.kind is RuntimeFailureKind.UNCERTAIN
    registry.gate.set()
    containerd.start()
    assert image_id(images.pull(APP.name))


def test_images_that_nobody_uses_are_removed_and_the_others_stay(
    containerd: Containerd, registry: Registry
) -> None:
    unused = GarbageOptions(high_percent=100, maximum_age=Seconds(0.01), every=Seconds(0.2))
    options = ImageOptions(garbage=unused)
    with containerd.client() as client, live_images(containerd.socket) as images:
        assert image_id(images.pull(APP.name))
        sandbox = run_sandbox(client, containerd)
        create_container(client, sandbox, containerd, BUSYBOX)
    assert registry.pulls
    with live_images(containerd.socket, options) as images:

        def is_removed() -> bool:
            return not {APP.name, SERVER} & containerd.images()

        eventually(is_removed)
        assert {BUSYBOX, PAUSE} <= containerd.images()
