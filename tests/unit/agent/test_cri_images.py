"""What a configuration says about images, and what of it is refused in one sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent.cri_options import image_options
from runtimes.cri.images.options import ImageOptions, VerificationPolicy
from settings.command_line import parse
from settings.containers import POLICIES
from settings.errors import UsageError
from settings.load import load_settings


def options(tmp_path: Path, *flags: str, **fields: Any) -> ImageOptions:
    """Return the options of a configuration with these ``fields``."""
    file = tmp_path / "config.json"
    document = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
        **fields,
    }
    file.write_text(json.dumps(document))
    arguments = ["--config", str(file), "--runtime", "cri", "--root-dir", str(tmp_path / "root")]
    settings = load_settings(parse([*arguments, *flags, "--hostname-override", "node-1"]))
    assert settings.runtime is not None
    told = settings.runtime.containers
    assert told is not None
    return image_options(settings, told)


def test_the_defaults_are_a_kubelets(tmp_path: Path) -> None:
    found = options(tmp_path)
    assert (found.pulls.parallel, found.pulls.per_second, found.pulls.burst) == (1, 5.0, 10)
    garbage = found.garbage
    assert (garbage.high_percent, garbage.low_percent) == (85, 80)
    assert (garbage.minimum_age, garbage.maximum_age, garbage.every) == (120.0, 0.0, 300.0)
    assert found.verification.policy is VerificationPolicy.NOT_PRELOADED
    assert found.node == "node-1"
    assert found.records == tmp_path / "root" / "image-pulls.json"
    assert found.credentials.directories[0] == tmp_path / "root"


@pytest.mark.parametrize(
    ("fields", "parallel"),
    [
        ({"serializeImagePulls": False}, None),
        ({"serializeImagePulls": False, "maxParallelImagePulls": 3}, 3),
        ({"maxParallelImagePulls": 3}, 3),
        ({"maxParallelImagePulls": 1}, 1),
        ({"serializeImagePulls": True, "maxParallelImagePulls": 1}, 1),
    ],
)
def test_so_many_images_are_pulled_at_the_same_time(
    tmp_path: Path, fields: dict[str, Any], parallel: int | None
) -> None:
    assert options(tmp_path, **fields).pulls.parallel == parallel


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        (
            {"serializeImagePulls": True, "maxParallelImagePulls": 2},
            "maxParallelImagePulls 2 has no",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_sentence(
    tmp_path: Path, fields: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(UsageError) as error:
        options(tmp_path, **fields)
    assert sentence in str(error.value)


def test_a_configuration_of_plugins_that_cannot_be_used_is_refused(tmp_path: Path) -> None:
    config = f"--image-credential-provider-config={tmp_path / 'plugins.yaml'}"
    programs = f"--image-credential-provider-bin-dir={tmp_path}"
    with pytest.raises(UsageError, match=r"plugins\.yaml: cannot be read: No such file"):
        options(tmp_path, config, programs)
    for flag in (config, programs):
        with pytest.raises(UsageError, match="need each other"):
            options(tmp_path, flag)


def test_the_policies_that_a_file_may_name_are_those_that_there_are() -> None:
    assert tuple(VerificationPolicy) == POLICIES
