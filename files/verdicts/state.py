"""What is known of the files of a manifest directory, whatever it is that they describe."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeAlias, TypeVar

from files.looking.directory import Entry, Ignored
from manifests.refusals import Refused
from manifests.verdicts.conflicts import NamedObject
from messages.sources import ManifestVerdict
from messages.units import Timestamp

T = TypeVar("T", bound=NamedObject)
"""What a file describes: hashable, and equal to another when nobody needs to be told of the difference."""
T_co = TypeVar("T_co", bound=NamedObject, covariant=True)


class Usable(Protocol[T_co]):
    """A file's content that can be used."""

    @property
    def described(self) -> T_co:
        """What it describes."""
        ...

    @property
    def warnings(self) -> tuple[str, ...]:
        """What its owner should know."""
        ...


Decode: TypeAlias = Callable[[bytes], Usable[T] | Refused]
"""From bytes to what they describe or a refusal, always the same for the same bytes."""

Admit: TypeAlias = Callable[[Entry, T, T | None], T | Refused]
"""From a file, what its content describes, and what it described when it could be used last, to what is
taken from it: whatever counts beside the content is decided here."""


def admit_all(_entry: Entry, described: T, _before: T | None) -> T:
    """Take whatever the content describes."""
    return described


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRecord(Generic[T]):
    """What is known about one file."""

    entry: Entry
    """As it was when it was judged."""
    outcome: Usable[T] | Refused | Ignored
    good: T | None
    """What its last usable content described."""
    broken_since: Timestamp | None = None
    """When it was seen first that the content is no more the one which described ``good``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileState(Generic[T]):
    """Everything that is known of the files. Lives in memory: a fresh start begins with an empty one."""

    records: Mapping[str, FileRecord[T]] = field(default_factory=dict)
    """By file name."""
    moving: Mapping[str, Timestamp] = field(default_factory=dict)
    """Files that are being written, and since when they have been left as they were."""
    gone: Mapping[str, Timestamp] = field(default_factory=dict)
    """Files that vanished a moment ago, and when that was seen; their records are still there."""
    entries: tuple[Entry, ...] = ()
    """What the last listing held."""
    served: tuple[T, ...] | None = None
    """What the files describe, as far as it is served; None until the first listing is complete."""
    is_provisional: bool = False
    """Nothing is served because the path never was there: that of an earlier process may have been."""
    verdicts: tuple[ManifestVerdict, ...] = ()

    @property
    def never_listed(self) -> bool:
        """Whether what the path holds was never seen as a whole."""
        return self.served is None or self.is_provisional
