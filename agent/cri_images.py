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
from runtimes.cri.images.plugin_config import PluginConfigError
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
    at_most = told.max_parallel_image_pulls
    if at_most is not None and at_most < 1:
        raise UsageError(f"maxParallelImagePulls {at_most} should be at least 1")
    if told.serialize_image_pulls and at_most is not None and at_most > 1:
        raise UsageError(
            f"maxParallelImagePulls {at_most} has no effect while serializeImagePulls is true"
        )
    if told.registry_pull_qps < 0 or told.registry_burst < 0:
        raise UsageError("registryPullQPS and registryBurst should be at least 0")
    return PullOptions(
        parallel=parallel_pulls(serialize=told.serialize_image_pulls, at_most=at_most),
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
    allowlist = told.preloaded_images_verification_allowlist
    try:
        policy = VerificationPolicy(told.image_pull_credentials_verification_policy)
    except ValueError:
        names = ", ".join(VerificationPolicy)
        raise UsageError(
            f"imagePullCredentialsVerificationPolicy should be one of {names}"
        ) from None
    if allowlist and policy is not VerificationPolicy.NOT_ALLOWLISTED:
        raise UsageError(
            "preloadedImagesVerificationAllowlist has an effect only with "
            f"imagePullCredentialsVerificationPolicy {VerificationPolicy.NOT_ALLOWLISTED}"
        )
    return VerificationOptions(policy=policy, allowlist=allowlist)


def _garbage(told: ContainerSettings) -> GarbageOptions:
    high, low = told.image_gc_high_threshold_percent, told.image_gc_low_threshold_percent
    if not 0 <= low < high <= 100:
        raise UsageError(
            "imageGCLowThresholdPercent should be below imageGCHighThresholdPercent, both from 0 to 100"
        )
    if told.image_maximum_gc_age < 0 or told.image_minimum_gc_age < 0:
        raise UsageError("imageMinimumGCAge and imageMaximumGCAge should be at least 0")
    if 0 < told.image_maximum_gc_age <= told.image_minimum_gc_age:
        raise UsageError("imageMaximumGCAge should be longer than imageMinimumGCAge")
    return GarbageOptions(
        high_percent=high,
        low_percent=low,
        minimum_age=told.image_minimum_gc_age,
        maximum_age=told.image_maximum_gc_age,
    )
