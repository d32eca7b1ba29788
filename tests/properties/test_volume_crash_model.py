"""A writer of a volume that is killed at any of its system calls: readers see whole content all the same."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from actors.volumes.atomic_directory import AtomicDirectory
from actors.volumes.content.files import Payload
from messages.units import Timestamp
from tests.support.volumes.dying_writer import DyingWriters
from tests.support.volumes.reading import data_of, payload_of, seen_in, strays_in

LATER: Final = Timestamp(1_900_000_100.0)
OLD: Final = payload_of({"a": b"old" * 100, "etc/b": b"old", "gone": b"old"})
NEW: Final = payload_of({"a": b"new" * 100, "etc/b": b"new", "more/c": b"new"})

NAMES: Final = st.sampled_from(["a", "b", "etc/x", "etc/y", "etc/deep/z"])
PAYLOADS: Final = st.builds(
    payload_of,
    st.dictionaries(NAMES, st.sampled_from([b"", b"one", b"two" * 5000])),
    mode=st.sampled_from([0o644, 0o400]),
)
LIVES: Final = st.lists(st.tuples(PAYLOADS, st.integers(min_value=1, max_value=120)), max_size=6)


@pytest.fixture(scope="module")
def writers() -> Iterator[DyingWriters]:
    with DyingWriters.running() as running:
        yield running


def content_through_data(volume: Path) -> dict[str, bytes] | None:
    """Return what a reader finds in ``..data``; None before there is any."""
    data = volume / "..data"
    if not data.is_symlink():
        return None
    files = (each for each in data.resolve(strict=True).rglob("*") if each.is_file())
    return {str(each.relative_to(data.resolve())): each.read_bytes() for each in files}


def links_lead_somewhere(volume: Path, gone: frozenset[str] = frozenset()) -> bool:
    """Return whether each link of users does, but for those of files that just went."""
    links = (each for each in volume.glob("*") if each.is_symlink() and each.name != "..data")
    return all(each.exists() for each in links if each.name not in gone)


def tops(payload: Payload) -> frozenset[str]:
    return frozenset(path.partition("/")[0] for path in payload.files)


def finish(volume: Path, payload: Payload) -> None:
    """Do what the next life does."""
    directory = AtomicDirectory(volume)
    directory.remove(*directory.write(payload, LATER).leaving)


def assert_tidy(volume: Path, shown: Payload) -> None:
    assert seen_in(volume) == data_of(shown)
    assert strays_in(volume) == set()
    assert {each.name for each in volume.iterdir()} >= tops(shown)


@pytest.mark.parametrize("is_durable", [False, True])
def test_a_first_write_shows_all_or_nothing_wherever_it_is_killed(
    writers: DyingWriters, tmp_path: Path, *, is_durable: bool
) -> None:
    for kill_at in count(1):
        volume = tmp_path / f"v{kill_at}"
        was_killed = writers.write(volume, NEW, kill_at, is_durable=is_durable)
        assert content_through_data(volume) in (None, data_of(NEW))
        assert links_lead_somewhere(volume)
        finish(volume, NEW)
        assert_tidy(volume, NEW)
        if not was_killed:
            assert kill_at > 30
            return


def test_an_update_shows_the_old_or_the_new_content_wherever_it_is_killed(
    writers: DyingWriters, tmp_path: Path
) -> None:
    for kill_at in count(1):
        volume = tmp_path / f"v{kill_at}"
        AtomicDirectory(volume).write(OLD, LATER)
        was_killed = writers.write(volume, NEW, kill_at)
        assert content_through_data(volume) in (data_of(OLD), data_of(NEW))
        assert links_lead_somewhere(volume, tops(OLD) - tops(NEW))
        finish(volume, NEW)
        assert_tidy(volume, NEW)
        if not was_killed:
            assert kill_at > 40
            return


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lives=LIVES, last=PAYLOADS)
def test_any_lives_that_are_killed_anywhere_leave_whole_content_and_the_next_one_tidies_up(
    writers: DyingWriters, lives: list[tuple[Payload, int]], last: Payload
) -> None:
    with TemporaryDirectory() as place:
        volume = Path(place) / "volume"
        shown: dict[str, bytes] | None = None
        for payload, kill_at in lives:
            was_killed = writers.write(volume, payload, kill_at)
            now = content_through_data(volume)
            assert now in (shown, data_of(payload))
            assert was_killed or now == data_of(payload)
            shown = now
        written = AtomicDirectory(volume).write(last, LATER)
        assert written.is_changed or shown == data_of(last)
        again = AtomicDirectory(volume)
        assert not again.write(last, LATER).is_changed
        assert_tidy(volume, last)
