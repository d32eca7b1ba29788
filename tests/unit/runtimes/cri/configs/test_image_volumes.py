"""Volumes that are images: which runtimes mount them, and how containers are given them."""

from __future__ import annotations

from typing import Any

import pytest

from runtimes.cri.configs import labels
from runtimes.cri.configs.container import ContainerCreation, container_config
from runtimes.cri.configs.documents import ConfigRefusedError
from runtimes.cri.configs.mounts import MountSituation, container_mounts
from runtimes.cri.configs.node import CriNode, RuntimeFeatures, image_volume_features
from runtimes.cri.images.garbage import images_in_use
from runtimes.cri.wire import cri_pb2 as cri
from tests.support.builders import make_pod

MODEL = {"name": "model", "image": {"reference": "registry.example/model:1"}}
POD = make_pod(spec={"volumes": [MODEL]})
ABLE = RuntimeFeatures(image_volumes=True, image_sub_paths=True)


def node(runtime: RuntimeFeatures) -> CriNode:
    return CriNode(name="node", root_dir="/r", runtime=runtime)


def container(**mount: Any) -> dict[str, Any]:
    return {"name": "main", "volumeMounts": [{"name": "model", "mountPath": "/m", **mount}]}


def mounts_of(runtime: RuntimeFeatures = ABLE, **mount: Any) -> tuple[cri.Mount, ...]:
    given = MountSituation(images={"model": "sha256:1"})
    return container_mounts(POD, container(**mount), 0, node(runtime), given).mounts


@pytest.mark.parametrize(
    ("name", "version", "able"),
    [
        ("containerd", "1.6.20~ds1", (False, False)),
        ("containerd", "v2.0.4", (False, False)),
        ("containerd", "v2.1.0-beta.0-18-g8237c496", (True, False)),
        ("containerd", "2.2.0", (True, True)),
        ("containerd", "10.0", (True, True)),
        ("cri-o", "1.30.1", (False, False)),
        ("cri-o", "1.31.0", (True, False)),
        ("CRI-O", "1.33.0", (True, True)),
        ("containerd", "", (False, False)),
        ("containerd", "main", (False, False)),
        ("hammock", "9.9", (False, False)),
    ],
)
def test_which_runtimes_mount_images_follows_from_their_versions(
    name: str, version: str, able: tuple[bool, bool]
) -> None:
    assert image_volume_features(name, version) == able


def test_an_image_is_mounted_read_only_by_its_id() -> None:
    image = cri.ImageSpec(image="sha256:1")
    assert mounts_of() == (cri.Mount(container_path="/m", readonly=True, image=image),)
    (part,) = mounts_of(subPath="weights")
    assert (part.image_sub_path, part.host_path) == ("weights", "")


@pytest.mark.parametrize(
    ("runtime", "mount", "why"),
    [
        (
            RuntimeFeatures(),
            {},
            'volume "model" is an image, which this container runtime does not',
        ),
        (
            RuntimeFeatures(image_volumes=True),
            {"subPath": "weights"},
            'volume "model" is mounted by a subPath, which this container runtime does not have',
        ),
        (ABLE, {"subPath": "../up"}, "must not contain '..'"),
    ],
)
def test_what_the_runtime_would_ignore_is_refused_by_its_name(
    runtime: RuntimeFeatures, mount: dict[str, Any], why: str
) -> None:
    with pytest.raises(ConfigRefusedError) as raised:
        mounts_of(runtime, **mount)
    assert why in raised.value.message


def test_an_image_that_nobody_has_found_is_not_mounted() -> None:
    with pytest.raises(ConfigRefusedError, match='volume "model": its image is not there'):
        container_mounts(POD, container(), 0, node(ABLE))


def test_an_image_that_is_mounted_is_in_use() -> None:
    creation = ContainerCreation(
        pod=POD,
        container=container(),
        attempt=0,
        spec_hash="0",
        image_ref="sha256:2",
        sandbox=cri.PodSandboxConfig(),
        node=node(ABLE),
        mounts=mounts_of(),
    )
    annotations = container_config(creation).annotations
    assert annotations[labels.VOLUME_IMAGES] == "sha256:1"
    told = cri.Container(annotations=annotations, image_ref="sha256:2")
    assert {"sha256:1", "sha256:2"} <= images_in_use((told,))
