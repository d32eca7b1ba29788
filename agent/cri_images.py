"""What the settings mean for images. A part of ``cri_runtime``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from kube.credentials.commands import output_of
from runtimes.cri.images.node_credentials import loaded_plugins, places
from runtimes.cri.images.options import (
    GarbageOptions,
    ImageOptions,
    NodeCredentials,
    PullOptions,
    VerificationOptions,
    VerificationPolicy,
    parallel_pulls,
)
from runtimes.cri.images.plugins import PluginConfigError
from settings.agent import Settings
from settings.containers import ContainerSettings
from settings.errors import UsageError

RECORDS: Final = "image-pulls.json"
"""Below the agent's directory: whose credentials pulled which image."""
KUBELET_RECORDS: Final = "image_manager"
"""Where a kubelet has the same, if the directory is the kubelet's."""


def image_options(settings: Settings, told: ContainerSettings) -> ImageOptions:
    """Return how images are pulled, given and removed. Raises ``UsageError``."""
    root = settings.root_dir.absolute()
    return ImageOptions(
        pulls=_pulls(told),
        credentials=_credentials(root, told),
        verification=_verification(told),
        garbage=_garbage(told),
        records=root / RECORDS,
        kubelet_records=root / KUBELET_RECORDS,
        node=settings.node_name,
    )


def _pulls(told: ContainerSettings) -> PullOptions:
    return PullOptions(
        parallel=parallel_pulls(
            serialize=told.serialize_image_pulls, at_most=told.max_parallel_image_pulls
        ),
        per_second=float(told.registry_pull_qps),
        burst=told.registry_burst,
    )


def _credentials(root: Path, told: ContainerSettings) -> NodeCredentials:
    config, programs = told.image_credential_provider_config, told.image_credential_provider_bin_dir
    home = os.environ.get("HOME")
    try:
        plugins = loaded_plugins(config, programs) if config and programs else ()
    except PluginConfigError as error:
        raise UsageError(f"--image-credential-provider-config {error}") from None
    return NodeCredentials(
        directories=places(root, Path(home) if home else None),
        plugins=plugins,
        plugin_directory=programs,
        environment=os.environ,
        run=output_of,
    )


def _verification(told: ContainerSettings) -> VerificationOptions:
    return VerificationOptions(
        policy=VerificationPolicy(told.image_pull_credentials_verification_policy),
        allowlist=told.preloaded_images_verification_allowlist,
    )


def _garbage(told: ContainerSettings) -> GarbageOptions:
    return GarbageOptions(
        high_percent=told.image_gc_high_threshold_percent,
        low_percent=told.image_gc_low_threshold_percent,
        minimum_age=told.image_minimum_gc_age,
        maximum_age=told.image_maximum_gc_age,
    )
