"""What can be configured about images, with a kubelet's defaults. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final, Protocol

from messages.units import Seconds
from runtimes.cri.images.plugins import CredentialPlugin


@dataclass(frozen=True, slots=True, kw_only=True)
class PullOptions:
    """How images are pulled."""

    parallel: int | None = 1
    """Pulls at the same time; None for any number."""
    per_second: float = 5.0
    """``registryPullQPS``: pulls that begin in a second, in the long run. 0 for any number."""
    burst: int = 10
    """``registryBurst``: pulls that may begin at once after a pause."""
    deadline: Seconds = Seconds(3600.0)
    """Of one attempt. A kubelet waits for ever, and so would every pod behind a registry that hangs."""
    told_every: Seconds = Seconds(30.0)
    """How often people are told that a pull goes on."""


def parallel_pulls(*, serialize: bool, at_most: int | None) -> int | None:
    """Return how many pulls go on at the same time: None for any number.

    ``serialize`` is ``serializeImagePulls``, ``at_most`` is ``maxParallelImagePulls``: None if it is not set.
    """
    return 1 if serialize else at_most


class RunCommand(Protocol):
    """Runs a program for its output."""

    def __call__(
        self,
        command: Sequence[str],
        *,
        deadline: Seconds,
        environment: Mapping[str, str] | None,
        told: bytes,
    ) -> bytes:
        """Return what ``command`` prints; ``told`` is its standard input. Blocks up to ``deadline``.

        Raises an exception whose text says why there is nothing, and never what the command wrote.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeCredentials:
    """Where the node's own credentials are."""

    directories: tuple[Path, ...] = ()
    """Where ``config.json`` and ``.dockercfg`` are looked for: the first good one counts."""
    plugins: tuple[CredentialPlugin, ...] = ()
    plugin_directory: Path | None = None
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    """What plugins find in theirs, beside what their configuration says."""
    run: RunCommand | None = None


class VerificationPolicy(StrEnum):
    """``imagePullCredentialsVerificationPolicy``: which images a pod gets without showing that it may."""

    NEVER = "NeverVerify"
    """All that are there."""
    NOT_PRELOADED = "NeverVerifyPreloadedImages"
    """Those that this agent has not pulled."""
    NOT_ALLOWLISTED = "NeverVerifyAllowlistedImages"
    """Those on a list."""
    ALWAYS = "AlwaysVerify"
    """None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerificationOptions:
    """Which images a pod gets that another pod's credentials pulled."""

    policy: VerificationPolicy = VerificationPolicy.NOT_PRELOADED
    allowlist: tuple[str, ...] = ()
    """``preloadedImagesVerificationAllowlist``: repositories; ``quay.io/team/*`` is all below it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GarbageOptions:
    """When unused images are removed."""

    high_percent: int = 85
    """``imageGCHighThresholdPercent``: how full the disk is when it begins. 100 for never."""
    low_percent: int = 80
    """``imageGCLowThresholdPercent``: how full it is to be then."""
    minimum_age: Seconds = Seconds(120.0)
    """``imageMinimumGCAge``: younger images are left alone."""
    maximum_age: Seconds = Seconds(0.0)
    """``imageMaximumGCAge``: images that were not used for longer are removed in any case. 0 for none."""
    every: Seconds = Seconds(300.0)
    """How often it is looked at."""

    @property
    def is_on(self) -> bool:
        """Whether any image may ever be removed."""
        return self.high_percent < 100 or self.maximum_age > 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageOptions:
    """Everything that can be configured about images."""

    pulls: PullOptions = PullOptions()
    credentials: NodeCredentials = NodeCredentials()
    verification: VerificationOptions = VerificationOptions()
    garbage: GarbageOptions = GarbageOptions()
    records: Path | None = None
    """The file with who pulled which image. None to remember it for this process alone."""
    kubelet_records: Path | None = None
    """The directory in which a kubelet remembers its pulls. None if there is none, or ``records`` is None."""
    node: str = ""
    """The name of the Node, which events are about."""


DEFAULT_IMAGES: Final = ImageOptions()
