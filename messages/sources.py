"""What sources tell: complete snapshots of pods, and a verdict for every manifest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from messages.pods import FullName, Pod, PodUid, SourceName
from messages.port import Port
from messages.units import Timestamp


class Epoch(NamedTuple):
    """Orders the snapshots of one source, also across restarts of the source actor.

    ``incarnation`` counts the lives of the source actor and is never reset while the process lives;
    ``sequence`` counts the snapshots of one life. Compared as a pair: the greater is the newer.
    """

    incarnation: int
    sequence: int


class Verdict(StrEnum):
    """What became of one manifest."""

    ACCEPTED = "accepted"
    """Its pod is served as the manifest says."""
    KEPT = "kept"
    """The manifest cannot be used as it is; the pod of its last good content is still served."""
    REJECTED = "rejected"
    """The manifest cannot be used, and no earlier content of it could: it has no pod."""
    SHADOWED = "shadowed"
    """A good manifest, but another one has its name or its UID: the pod of that one is served."""
    IGNORED = "ignored"
    """Its name is not that of a manifest: a dotfile, or what an editor left behind."""


class RejectReason(StrEnum):
    """Why a manifest was refused, in one word for metrics. A sentence for people comes with it."""

    UNREADABLE = "unreadable"
    """The file could not be read: permissions, an I/O error, a dangling link."""
    NOT_A_FILE = "not_a_file"
    """A directory, fifo, socket or device where a file belongs."""
    TOO_LARGE = "too_large"
    """10 MiB or more, or an alias bomb, or nested too deeply."""
    EMPTY = "empty"
    """No document at all."""
    SYNTAX = "syntax"
    """Not UTF-8, or neither YAML nor JSON."""
    NOT_A_POD = "not_a_pod"
    """A document of another kind or version, a PodList in a file, or a mirror pod."""
    INVALID = "invalid"
    """A pod that the API server would refuse."""
    UNKNOWN_FIELD = "unknown_field"
    """Unknown fields, if the agent was told to be strict about them."""
    API_REFERENCE = "api_reference"
    """A static pod that depends on an object of the API server."""
    POISON = "poison"
    """Taking the pod in has crashed PodManager."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestVerdict:
    """What became of one manifest, and why. ``path`` is the file's, or the URL and item's."""

    path: str
    verdict: Verdict
    reason: str = ""
    """A sentence for people; empty when the manifest was simply accepted."""
    code: RejectReason | None = None
    """Set for rejected and kept manifests."""
    warnings: tuple[str, ...] = ()
    pod: str = ""
    """``<namespace>/<name>`` of the pod that it describes; empty when that is unknown."""
    uid: PodUid | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceListed:
    """All pods that ``source`` wants to run. Replaces whatever it listed before.

    Repeats are harmless. Listings of one source coalesce: only the newest is handled. A pod that did not
    change is the identical object in the next listing, so a merge can skip it by identity.
    """

    source: SourceName
    epoch: Epoch
    pods: tuple[Pod, ...]
    is_provisional: bool = False
    """The listing is empty because there is nothing to list from yet. Nobody has to wait for it, and it does
    not say that pods of an earlier life of the agent are no longer wanted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListPods:
    """Asks a source to tell its present listing again, or its first one once it has it. May repeat."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rescan:
    """Asks a source to look at once, without waiting until its next look is due. May repeat."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodsJudged:
    """PodManager's verdicts on all pods of one source. Coalesced: the newest replaces those before.

    Tells a source what it cannot know by itself: that a pod of another source has the name, or that a pod is
    in quarantine. A pod that is not named is served.
    """

    source: SourceName
    shadowed: Mapping[PodUid, str]
    """Sentence for each pod that waits behind another claimant of its name."""
    rejected: Mapping[PodUid, str]
    """Sentence for each pod that is in quarantine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorsJudged:
    """MirrorKeeper's verdicts on all pods of one source. Coalesced: the newest replaces those before.

    The pods run all the same: only their mirrors, which show them in the cluster, are refused.
    """

    source: SourceName
    refused: Mapping[PodUid, str]
    """Sentence for each pod whose mirror the API server refuses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeSource:
    """Asks a source for its state. Answered by one ``SourceDescribed``."""

    reply_to: Port[SourceDescribed]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceDescribed:
    """The state of a source: the answer to ``DescribeSource``."""

    name: SourceName
    ready: bool
    """It has listed at least once, possibly provisionally."""
    epoch: Epoch
    last_listed: Timestamp | None
    """When its last successful look was; None if there was none."""
    rejected: Mapping[RejectReason, int]
    """How many manifests were refused since the process began, by reason."""
    error: str
    """Why it cannot list at present; empty if it can."""
    manifests: tuple[ManifestVerdict, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictsMayDiffer:
    """Tells that verdicts of a source may be others than before. Who wants to know them asks. May repeat."""

    source: SourceName


SourceMessage: TypeAlias = ListPods | Rescan | PodsJudged | MirrorsJudged | DescribeSource
"""What every source hears from other actors. Each has messages of its own beside these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeMirrors:
    """Asks for the state of the mirrors. Answered by one ``MirrorsDescribed``."""

    reply_to: Port[MirrorsDescribed]


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorsDescribed:
    """The state of the mirrors."""

    wanted: int
    """How many static pods should have a mirror."""
    present: int
    """How many of these have the right one."""
    troubles: Mapping[FullName, str]
    """Why there is no right mirror, by name of the pod, for those that were refused or wait."""
    create_errors: Mapping[str, int]
    """Refusals since the process began, by reason."""
