"""A process that is at war with the writer of a volume: it swaps what is in it for links to a victim."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

_ROOT: Final = Path(__file__).parents[3]


@contextmanager
def swapping(volume: Path, victim: Path) -> Iterator[None]:
    """Have everything in ``volume`` swapped again and again during the ``with`` block."""
    with _running("all", volume, victim):
        yield


@contextmanager
def swapping_one(place: Path, victim: Path) -> Iterator[None]:
    """Have one directory swapped for a link, and back, as fast as it can be done."""
    with _running("one", place, victim):
        yield


@contextmanager
def _running(what: str, place: Path, victim: Path) -> Iterator[None]:
    command = [
        sys.executable,
        "-m",
        "tests.support.volumes.swapping",
        what,
        str(place),
        str(victim),
    ]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd=_ROOT) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "swapping\n"
        try:
            yield
        finally:
            process.communicate()


def _main(what: str, place: Path, victim: Path) -> None:
    sys.stdout.write("swapping\n")
    sys.stdout.flush()
    turn = 0
    while not select.select([sys.stdin], [], [], 0)[0]:
        for _ in range(100):
            with suppress(OSError):
                turn += 1
                if what == "one":
                    _swap_and_back(place, victim)
                else:
                    _swap_all(place, victim, turn)


def _swap_and_back(place: Path, victim: Path) -> None:
    kept = place.with_name("kept")
    if not kept.exists():
        place.rename(kept)
        place.symlink_to(victim)
    with suppress(IsADirectoryError):
        place.unlink()
    kept.rename(place)  # also in the place of an empty one that was made meanwhile


def _swap_all(volume: Path, victim: Path, turn: int) -> None:
    """Swap every directory for a link as soon as it is there, and sometimes more."""
    for name in os.listdir(volume):  # noqa: PTH208
        place = f"{volume}/{name}"
        with suppress(OSError):
            if name.startswith("..2"):
                os.rename(place, f"{volume}/x{turn}")  # noqa: PTH104
                os.symlink(victim, place)  # noqa: PTH211
            elif turn % 7 == 0:
                _swap(Path(place), victim, turn)


def _swap(place: Path, victim: Path, turn: int) -> None:
    """Do one of several things to one name, and to what is in it."""
    match turn % 5:
        case 0:
            place.rename(place.with_name(f"x{turn}"))
            place.symlink_to(victim)
        case 1 if place.is_dir() and not place.is_symlink():
            for inner in os.listdir(place):  # noqa: PTH208
                place.joinpath(inner).rename(place.with_name(f"y{turn}"))
                place.joinpath(inner).symlink_to(victim)
        case 2 if place.is_symlink():
            place.unlink()
            place.mkdir()
        case 3 if place.name.startswith(("x", "y")):
            _remove(place)
        case _:
            return


def _remove(place: Path) -> None:
    if place.is_symlink() or not place.is_dir():
        place.unlink()
    else:
        shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    _main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
