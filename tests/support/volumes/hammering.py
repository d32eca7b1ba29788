"""A process that reads a volume all the time: it says what it saw once its input ends."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Final

from actors.volumes.atomic_directory import OLD_STAYS

_ROOT: Final = Path(__file__).parents[3]
_PATIENT: Final = OLD_STAYS * 0.8
"""Seconds. A reader that takes longer between its steps may find that the old content is gone."""


@contextmanager
def hammering(volume: Path, readers: int) -> Iterator[list[dict[str, int]]]:
    """Have readers read ``volume`` during the ``with`` block. Their counts are in the list after it."""
    command = [sys.executable, "-m", "tests.support.volumes.hammering", str(volume)]
    pipe = subprocess.PIPE
    processes = [
        subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd=_ROOT)
        for _ in range(readers)
    ]
    counts: list[dict[str, int]] = []
    try:
        for each in processes:
            assert each.stdout is not None
            assert each.stdout.readline() == "reading\n"
        yield counts
    finally:
        counts.extend(json.loads(each.communicate()[0]) for each in processes)


def _main(volume: str) -> None:
    seen: Counter[str] = Counter()
    sys.stdout.write("reading\n")
    sys.stdout.flush()
    while not select.select([sys.stdin], [], [], 0)[0]:
        for _ in range(50):
            seen[_read_together(volume)] += 1
            seen[_read_by_path(volume)] += 1
    sys.stdout.write(json.dumps(seen))


def _read_together(volume: str) -> str:
    """Read all files in one opened ``..data``: they are of one version, and whole."""
    began = monotonic()
    try:
        data = os.open(f"{volume}/..data", os.O_RDONLY | os.O_DIRECTORY)
    except FileNotFoundError:
        return _missed(began)
    try:
        with os.scandir(data) as found:
            names = sorted(each.name for each in found)
        contents = {_read(os.open(name, os.O_RDONLY, dir_fd=data)) for name in names}
    except FileNotFoundError:
        return _missed(began)
    finally:
        os.close(data)
    if len(names) < 3:
        return _missed(began)
    return "whole" if len(contents) == 1 and _is_whole(contents.pop()) else "torn"


def _read_by_path(volume: str) -> str:
    began = monotonic()
    try:
        content = _read(os.open(f"{volume}/a", os.O_RDONLY))
    except FileNotFoundError:
        return _missed(began)
    return "whole" if _is_whole(content) else "torn"


def _missed(began: float) -> str:
    return "missed" if monotonic() - began < _PATIENT else "too slow"


def _is_whole(content: bytes) -> bool:
    """Return whether a content is one number again and again, as often as it is to be."""
    number, _, rest = content.partition(b";")
    return rest == (number + b";") * 999


def _read(file: int) -> bytes:
    with os.fdopen(file, "rb") as opened:
        return opened.read()


if __name__ == "__main__":
    _main(sys.argv[1])
