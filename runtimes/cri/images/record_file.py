"""The files with what is remembered of pulls. All of it may block: it belongs on a thread of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import structlog

from files.records import make_directory, read_file, set_aside, write_file
from runtimes.cri.images.pull_records import SALT_BYTES, PullRecords, begun_pull, pulled_image

LARGEST: Final = 64 << 20
"""Bytes of the file. This agent cannot have written a longer one."""
LARGEST_OF_KUBELET: Final = 1 << 20
"""Bytes of a file of a kubelet, which is about one image."""
PULLED, PULLING = "pulled", "pulling"
"""Where a kubelet has its records of images, and of pulls under way."""

_log = structlog.get_logger("images")


def remembered(path: Path | None, of_kubelet: Path | None) -> PullRecords | None:
    """Return what the process before remembered, with what a kubelet did; None if there is nothing."""
    known = None if path is None else read_records(path)
    if of_kubelet is None:
        return known
    records = known or PullRecords(os.urandom(SALT_BYTES))
    return records if learn_of_kubelet(of_kubelet, records) else known


def read_records(path: Path) -> PullRecords | None:
    """Return what the process before remembered; None if there is nothing, or nothing that can be read."""
    try:
        data = read_file(path, LARGEST)
    except FileNotFoundError:
        return None
    except OSError as error:
        _log.warning("records of pulls cannot be read", file=str(path), reason=error.strerror)
        return None
    records = PullRecords.decoded(data)
    if records is None:
        aside = set_aside(path)
        _log.warning("records of pulls are set aside", file=str(aside))
    return records


def learn_of_kubelet(directory: Path, records: PullRecords) -> bool:
    """Add what a kubelet remembers in ``directory``. Return whether there was anything.

    What cannot be read is passed over with a warning. Nothing of the kubelet's is changed.
    """
    learned = False
    for path, data in _files(directory / PULLED):
        pulled = pulled_image(data)
        if pulled is None:
            _log.warning("a kubelet's record of an image cannot be read", file=str(path))
        else:
            records.note_of_kubelet(pulled)
            learned = True
    for path, data in _files(directory / PULLING):
        image = begun_pull(data)
        if image is None:
            _log.warning("a kubelet's record of a pull cannot be read", file=str(path))
        else:
            records.note_uncertain(image)
            learned = True
    return learned


def _files(directory: Path) -> Iterator[tuple[Path, bytes]]:
    """Return each file with what is in it, in the order of names; of those too long only the beginning."""
    try:
        paths = sorted(directory.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        _log.warning(
            "records of a kubelet cannot be read", file=str(directory), reason=error.strerror
        )
        return
    for path in paths:
        try:
            with path.open("rb") as file:
                data = file.read(LARGEST_OF_KUBELET)
        except OSError:
            data = b""
        yield path, data


def write_records(path: Path, data: bytes) -> None:
    """Replace the file by one with ``data``, as ``write_file`` does."""
    make_directory(path.parent)
    write_file(path, data)
