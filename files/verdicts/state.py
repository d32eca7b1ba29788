"""What is known of the files of a directory, whatever they describe."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeAlias, TypeVar

from files.looking.found import Entry, Ignored
from manifests.conflicts import Conflict, NamedObject
from manifests.refusals import Refused
from messages.sources import ManifestVerdict
from messages.units import Timestamp

T = TypeVar("T", bound=NamedObject)
"""What a file describes. Hashable. Two are equal if nobody needs to be told of the difference."""
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
"""Returns what bytes describe, or a refusal: always the same for the same bytes."""

Admit: TypeAlias = Callable[[Entry, T, T | None], T | Refused]
"""Decides by what counts beside the content. Takes a file, what its content describes, and what it described
when it could be used last. Returns what is taken from the file, or a refusal."""


def admit_all(_entry: Entry, described: T, _before: T | None) -> T:
    """Return whatever the content describes: nothing counts beside it."""
    return described


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRecord(Generic[T]):
    """What is known about one file."""

    entry: Entry
    """As it was when it was judged."""
    outcome: Usable[T] | Refused | Ignored
    good: T | None
    """What its last usable content described."""
    good_data: bytes | None = field(default=None, repr=False)
    """The content that described ``good``."""
    broken_since: Timestamp | None = None
    """When the content was first seen to be another than the one which described ``good``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileState(Generic[T]):
    """Everything that is known of the files. A new process begins with an empty one, and what it recalls."""

    records: Mapping[str, FileRecord[T]] = field(default_factory=dict)
    """By file name."""
    moving: Mapping[str, Timestamp] = field(default_factory=dict)
    """Files that are being written, and since when they have counted as before."""
    gone: Mapping[str, Timestamp] = field(default_factory=dict)
    """Files that vanished a moment ago, and when that was seen. Their records are kept."""
    entries: tuple[Entry, ...] | None = ()
    """What the last listing held. None if the last look found none: whatever the next one finds is news."""
    served: tuple[T, ...] | None = None
    """The objects that are served; None until the first listing is complete."""
    recalled: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    """The last good contents that the process before has kept, by file name. They count until the first
    listing is complete, for files that cannot be used then."""
    is_provisional: bool = False
    """Nothing is served because the path has not been there in this process. It may have been earlier."""
    lost: Mapping[str, Conflict] = field(default_factory=dict)
    """The conflicts of the files that lose their objects to others, by file name."""
    verdicts: tuple[ManifestVerdict, ...] = ()
    """One for each record, in the same order."""

    @property
    def never_listed(self) -> bool:
        """Whether the content of the path has never been seen as a whole."""
        return self.served is None or self.is_provisional

    @property
    def good_contents(self) -> Mapping[str, bytes]:
        """The last good content of each file, by its name."""
        records = self.records.items()
        return {name: each.good_data for name, each in records if each.good_data is not None}
