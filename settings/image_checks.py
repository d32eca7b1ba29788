"""Checks of what is said of images. Each complaint is a ``UsageError`` with one sentence."""

from __future__ import annotations

from typing import Final

from manifests.image_names import parse_image_name
from settings.configuration.schema import KubeletConfiguration
from settings.errors import UsageError

ALLOWLISTED: Final = "NeverVerifyAllowlistedImages"
POLICIES: Final = (
    "NeverVerify",
    "NeverVerifyPreloadedImages",
    ALLOWLISTED,
    "AlwaysVerify",
)
"""Who may have an image that is there already: a kubelet's words."""


def check_images(configuration: KubeletConfiguration, *, is_serial: bool) -> None:
    """Raise ``UsageError`` for the first value that is none. ``is_serial``: one is pulled after the other."""
    _check_pulls(configuration, is_serial=is_serial)
    _check_verification(configuration)
    _check_garbage(configuration)


def _check_pulls(configuration: KubeletConfiguration, *, is_serial: bool) -> None:
    name = "maxParallelImagePulls"
    at_most = configuration.maxParallelImagePulls
    if name in configuration.model_fields_set and at_most < 1:
        raise UsageError(f"{name} {at_most} should be at least 1", at=name)
    if name in configuration.model_fields_set and is_serial and at_most > 1:
        raise UsageError(
            f"{name} {at_most} has no effect while serializeImagePulls is true", at=name
        )
    for name in ("registryPullQPS", "registryBurst"):
        if getattr(configuration, name) < 0:
            raise UsageError("registryPullQPS and registryBurst should be at least 0", at=name)


def _check_verification(configuration: KubeletConfiguration) -> None:
    policy = configuration.imagePullCredentialsVerificationPolicy
    if policy not in POLICIES:
        name = "imagePullCredentialsVerificationPolicy"
        raise UsageError(f"{name} should be one of {', '.join(POLICIES)}", at=name)
    for each in configuration.preloadedImagesVerificationAllowlist:
        _check_repository(each)
    if configuration.preloadedImagesVerificationAllowlist and policy != ALLOWLISTED:
        raise UsageError(
            "preloadedImagesVerificationAllowlist has an effect only with "
            f"imagePullCredentialsVerificationPolicy {ALLOWLISTED}",
            at="preloadedImagesVerificationAllowlist",
        )


def _check_repository(pattern: str) -> None:
    """Refuse what no repository's full name can be: it would match nothing, and nobody would know why."""
    name = f"{pattern[:-1]}a/a" if pattern.endswith("/*") else pattern
    image = parse_image_name(name)
    if image is None or image.repository != name:
        raise UsageError(
            f"preloadedImagesVerificationAllowlist has {pattern[:128]!r}, which should be the full name "
            "of a repository, such as docker.io/library/busybox, or end in /* for all below it",
            at="preloadedImagesVerificationAllowlist",
        )


def _check_garbage(configuration: KubeletConfiguration) -> None:
    low = configuration.imageGCLowThresholdPercent
    high = configuration.imageGCHighThresholdPercent
    if not 0 <= low < high <= 100:
        given = configuration.model_fields_set
        names = ("imageGCLowThresholdPercent", "imageGCHighThresholdPercent")
        raise UsageError(
            f"{names[0]} should be below {names[1]}, both from 0 to 100",
            at=names[0] if names[0] in given else names[1],
        )
    shortest = configuration.value_of("imageMinimumGCAge")
    longest = configuration.value_of("imageMaximumGCAge")
    for name, age in (("imageMinimumGCAge", shortest), ("imageMaximumGCAge", longest)):
        if age < 0:
            raise UsageError(
                "imageMinimumGCAge and imageMaximumGCAge should be at least 0", at=name
            )
    if 0 < longest <= shortest:
        raise UsageError(
            "imageMaximumGCAge should be longer than imageMinimumGCAge", at="imageMaximumGCAge"
        )
