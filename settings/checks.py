"""Checks of settings. Each complaint is a ``UsageError`` with one sentence."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from settings.errors import UsageError

if TYPE_CHECKING:
    from settings.flags.command_line import CommandLine

_NODE_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_FILE_KINDS = (
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISFIFO, "a fifo"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISCHR, "a device"),
)


def checked_url(url: str) -> str:
    """Return ``url``: empty, or http or https with a host. Raises ``UsageError``, which does not show it."""
    try:
        parts = urlsplit(url)
        good = parts.scheme in {"http", "https"} and parts.hostname and (parts.port or True)
    except ValueError:
        good = False
    if url and not good:
        raise UsageError(
            "staticPodURL should be an http or https URL with a host", at="staticPodURL"
        )
    return url


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


def check_contradictions(line: CommandLine) -> None:
    """Raise ``UsageError`` when flags do not go together."""
    chosen = {
        "--standalone": line.standalone,
        "--kubeconfig": bool(line.kubeconfig),
        "--in-cluster": line.in_cluster,
    }
    names = [name for name, is_chosen in chosen.items() if is_chosen]
    if len(names) > 1:
        raise UsageError(f"{' and '.join(names)} contradict each other", at=names[-1])
    if line.output and line.validate is None and not line.explain_takeover:
        raise UsageError(
            "--output has an effect only with --validate and --explain-takeover", at="--output"
        )
    if line.explain_takeover and line.validate is not None:
        raise UsageError(
            "--validate and --explain-takeover are two questions: ask one at a time",
            at="--explain-takeover",
        )


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
