"""Readers that read all the time, while the content changes all the time."""

from __future__ import annotations

from collections import Counter, deque
from pathlib import Path
from time import monotonic
from typing import Final

from messages.units import Timestamp
from tests.support.volumes.hammering import hammering
from tests.support.volumes.reading import payload_of
from volumes.atomic_directory import OLD_STAYS, AtomicDirectory
from volumes.payload import Payload

NOON: Final = Timestamp(1_900_000_000.0)
UPDATES: Final = 10_000


def version(number: int) -> Payload:
    content = f"{number};".encode() * 1000
    return payload_of({"a": content, "b": content, "c": content})


def test_readers_see_whole_content_of_one_version_through_ten_thousand_updates(
    tmp_path: Path,
) -> None:
    volume = tmp_path / "volume"
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
    seen = sum(map(Counter, counts), Counter[str]())
    assert seen["whole"] > 1000
    assert {what: seen[what] for what in ("torn", "missed", "no content")} == {
        "torn": 0,
        "missed": 0,
        "no content": 0,
    }
