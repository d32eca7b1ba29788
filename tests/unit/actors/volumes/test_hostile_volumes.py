"""Somebody swaps what is in a volume for links while it is written."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Final

import pytest

from actors.volumes.atomic_directory import AtomicDirectory, ContentNotWrittenError
from messages.units import Timestamp
from tests.support.volumes.reading import data_of, payload_of
from tests.support.volumes.small_disks import quick_place
from tests.support.volumes.swapping import swapping

NOON: Final = Timestamp(1_900_000_000.0)
VICTIM: Final = {"a": "1", "etc/b": "2", "etc/deep/c": "3", "..2030_01_01_00_00_00.1/a": "4"}


def content_of(place: Path) -> dict[str, tuple[str, int]]:
    files = (each for each in place.rglob("*") if each.is_file())
    return {str(each.relative_to(place)): (each.read_text(), each.stat().st_mode) for each in files}


@pytest.mark.timeout(180)
def test_nothing_outside_of_a_volume_is_written_or_removed(tmp_path: Path) -> None:
    with quick_place(tmp_path) as place:
        write_amid_swaps(place)


def write_amid_swaps(tmp_path: Path) -> None:
    volume, victim = tmp_path / "volume", tmp_path / "victim"
    for path, content in VICTIM.items():
        victim.joinpath(path).parent.mkdir(parents=True, exist_ok=True)
        victim.joinpath(path).write_text(content)
    before = content_of(victim)
    directory = AtomicDirectory(volume)
    written = failed = 0
    directory.write(payload_of({"a": b"0"}), NOON)
    with swapping(volume, victim):
        for number in range(600):
            data = {"a": b"%d" % number, "etc/b": b"x", "etc/deep/c": b"y", f"k{number % 3}": b""}
            try:
                directory.remove(*directory.write(payload_of(data), NOON).leaving)
                written += 1
            except ContentNotWrittenError:
                failed += 1
    assert written > 0
    assert failed > 0
    assert content_of(victim) == before
    last = payload_of({"a": b"last", "etc/b": b"last"})
    with suppress(ContentNotWrittenError):
        directory.write(payload_of({}), NOON)
    directory.write(last, NOON)
    assert {path: volume.joinpath(path).read_bytes() for path in last.files} == data_of(last)
