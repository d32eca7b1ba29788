"""Checks of values.

Where a row is checked, ``ValueError`` has the end of a sentence that begins with the name of the row. Other
complaints are a ``UsageError`` with one sentence.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from manifests.times import format_duration
from messages.units import Seconds
from settings.errors import UsageError

_NODE_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_FILE_KINDS = (
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISFIFO, "a fifo"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISCHR, "a device"),
)


def checked_node_name(name: str) -> str:
    """Return ``name`` as the name of a node: trimmed and in lower case, as in a kubelet."""
    node_name = name.strip().lower()
    if len(node_name) > 253 or not _NODE_NAME.fullmatch(node_name):
        raise UsageError(
            f"{name[:64]!r} cannot be the name of a node: letters, digits, - and . only, beginning and "
            "ending with a letter or digit, up to 253 of them; choose one with --hostname-override",
            at="--hostname-override",
        )
    return node_name


def check_path(what: str, path: Path, *, at: str) -> None:
    """Raise ``UsageError`` if neither a directory nor a file is at ``path``. It may be missing yet.

    ``at`` is the field or the flag that names it.
    """
    try:
        mode = path.stat().st_mode
    except OSError:
        return
    kind = next((name for is_kind, name in _FILE_KINDS if is_kind(mode)), None)
    if kind:
        raise UsageError(f"{what} {path} is {kind}; it should be a directory or a file", at=at)


def check_apart(local_objects_dir: Path, static_pod_path: Path | None) -> None:
    """Raise ``UsageError`` if Secrets would be read as manifests of pods, or the other way round."""
    if static_pod_path is None:
        return
    # Not ``resolve``, which raises for links that lead in a circle.
    here, there = Path(os.path.realpath(local_objects_dir)), Path(os.path.realpath(static_pod_path))
    if here == there or there in here.parents:
        where = "is" if here == there else "is inside of"
        raise UsageError(
            f"--local-objects-dir {local_objects_dir} {where} the manifest path {static_pod_path}; "
            "keep Secrets and ConfigMaps apart from the manifests of pods",
            at="--local-objects-dir",
        )


T = TypeVar("T")


def at_least(least: int, why: str = "") -> Callable[[int], int]:
    """Return what refuses numbers below ``least``."""
    return _checked(lambda number: number >= least, f"{{}} should be at least {least}{why}")


def no_shorter_than(least: Seconds) -> Callable[[Seconds], Seconds]:
    """Return what refuses durations below ``least``."""
    return _checked(lambda span: span >= least, f"should be at least {format_duration(least)}")


def between(least: float, most: float, sentence: str) -> Callable[[float], float]:
    """Return what refuses numbers out of bounds by ``sentence``, in which ``{}`` is the number."""
    return _checked(lambda number: least <= number <= most, sentence)


def one_of(choices: tuple[str, ...], sentence: str) -> Callable[[str], str]:
    """Return what refuses other texts by ``sentence``, in which ``{}`` is the text."""
    return _checked(lambda text: text in choices, sentence, lambda text: repr(text[:32]))


def _checked(
    is_good: Callable[[T], bool], sentence: str, shown: Callable[[T], Any] = lambda value: value
) -> Callable[[T], T]:
    def check(value: T) -> T:
        if not is_good(value):
            raise ValueError(sentence.format(shown(value)))
        return value

    return check
