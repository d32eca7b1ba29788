"""Readers that read all the time, while the content changes all the time."""

from __future__ import annotations

from collections import Counter, deque
from pathlib import Path
from time import monotonic
from typing import Final

import pytest

from actors.volumes.atomic_directory import OLD_STAYS, AtomicDirectory
from actors.volumes.content.files import Payload
from messages.units import Timestamp
from tests.support.volumes.hammering import hammering
from tests.support.volumes.reading import payload_of
from tests.support.volumes.small_disks import quick_place

NOON: Final = Timestamp(1_900_000_000.0)
UPDATES: Final = 10_000


def version(number: int) -> Payload:
    content = f"{number};".encode() * 1000
    return payload_of({"a": content, "b": content, "c": content})


@pytest.mark.timeout(180)
def test_readers_see_whole_content_of_one_version_through_ten_thousand_updates(
    tmp_path: Path,
) -> None:
    with quick_place(tmp_path) as place:
        seen = seen_amid_updates(place / "volume")
    assert seen["whole"] > 1000
    assert (seen["torn"], seen["missed"]) == (0, 0)


def seen_amid_updates(volume: Path) -> Counter[str]:
    """Update a volume again and again, and return what its readers saw."""
    directory = AtomicDirectory(volume)
    directory.write(version(0), NOON)
    leaving: deque[tuple[float, tuple[str, ...]]] = deque()
    with hammering(volume, readers=2) as counts:
        for number in range(1, UPDATES + 1):
            known = {name for _, names in leaving for name in names}
            written = directory.write(version(number), NOON)
            new = tuple(name for name in written.leaving if name not in known)
            leaving.append((monotonic() + OLD_STAYS, new))
            while leaving and leaving[0][0] <= monotonic():
                assert directory.remove(*leaving.popleft()[1]) == ""
    return sum(map(Counter, counts), Counter[str]())
