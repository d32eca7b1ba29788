"""The rules by which manifests are decoded, and verdicts by them for people and pipelines, without an agent.

Manifests are looked at, decoded and compared as in the file source. Nothing is started or written: no actor,
no port, no root directory.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from files.looking.directory import look
from files.looking.found import PATIENCE, Listed, Unlistable
from files.verdicts.judging import judge
from files.verdicts.state import FileState
from manifests.pod_manifest import GivesUids, ManifestRules, decode_manifest
from manifests.texts import printable
from messages.pods import FILE, Pod, SourceName
from messages.sources import ManifestVerdict, Verdict
from messages.units import Timestamp
from server.verdicts import manifest
from settings.checks import checked_node_name
from settings.errors import StartError

if TYPE_CHECKING:
    from settings.agent import Settings


UNSERVED: Final = frozenset({Verdict.REJECTED, Verdict.SHADOWED})
"""What the exit code is about."""


def usual_rules(hostname: str, source: SourceName) -> ManifestRules:
    """Return the rules by which ``source`` decodes manifests in an agent without any flag.

    They are those of its settings. To load these takes 0.3 s, half of what somebody waits who only wants
    verdicts. Raises ``UsageError`` for a host name that a node cannot have.
    """
    return ManifestRules(
        node_name=checked_node_name(hostname), source=source, strict=False, allow_references=False
    )


def manifest_rules(
    settings: Settings, source: SourceName, uids: GivesUids | None = None
) -> ManifestRules:
    """Return the rules by which ``source`` decodes manifests in an agent with ``settings``.

    ``uids`` knows which pods keep a UID that is not their own.
    """
    return ManifestRules(
        node_name=settings.node_name,
        source=source,
        strict=settings.strict_manifests,
        allow_references=settings.local_objects_dir is not None,
        uids=uids,
    )


def validate(path: Path, rules: ManifestRules, output: str) -> int:
    """Write the verdicts on the manifests at ``path``, a directory or a file, as ``text`` or ``json``.

    Return the exit code: 0 if each manifest would be served, else 1. Raises ``StartError`` if the path cannot
    be listed.
    """
    verdicts = verdicts_at(path, rules, Timestamp(time.time()))
    if output == "json":
        write_lines([json.dumps(as_document(verdicts), indent=2)])
    else:
        write_lines(_lines(verdicts))
    return 0 if _are_served(verdicts) else 1


def validated(path: Path, rules: ManifestRules) -> dict[str, Any]:
    """Return the same verdicts as a document. Raises ``StartError`` if the path cannot be listed."""
    return as_document(verdicts_at(path, rules, Timestamp(time.time())))


def as_document(verdicts: Collection[ManifestVerdict]) -> dict[str, Any]:
    """Return what ``--validate`` says as JSON: whether each manifest would be served, and all verdicts."""
    manifests = [manifest(verdict, FILE) for verdict in verdicts]
    return {"valid": _are_served(verdicts), "manifests": manifests}


def _are_served(verdicts: Collection[ManifestVerdict]) -> bool:
    return UNSERVED.isdisjoint(verdict.verdict for verdict in verdicts)


def write_lines(lines: Iterable[str]) -> None:
    """Write lines to the standard output, as far as anybody reads them."""
    try:
        sys.stdout.writelines(f"{line}\n" for line in lines)
        sys.stdout.flush()
    except BrokenPipeError:
        # Its reader has read enough. The interpreter flushes once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def verdicts_at(path: Path, rules: ManifestRules, now: Timestamp) -> tuple[ManifestVerdict, ...]:
    """Return the verdict on each manifest at ``path``, in the order of names. Raises ``StartError``."""
    return state_at(path, rules, now).verdicts


def state_at(path: Path, rules: ManifestRules, now: Timestamp) -> FileState[Pod]:
    """Return what is known of the manifests at ``path`` after one look. Raises ``StartError``."""
    listing = look(path, now=now)
    if isinstance(listing, Unlistable):
        raise StartError(f"{printable(path)} {listing.reason}")
    decode = partial(decode_manifest, rules=rules)
    return judge(_impatient(listing, now), listing, decode, now=now).state


def _impatient(listing: Listed, now: Timestamp) -> FileState[Pod]:
    """Return a state in which each file has been waited for: whoever asks wants an answer now."""
    since = Timestamp(now - PATIENCE)
    return FileState(moving={entry.name: since for entry in listing.entries})


def _lines(verdicts: Iterable[ManifestVerdict]) -> Iterator[str]:
    """Yield lines as compilers write them, and at last how many manifests have which verdict."""
    counts: Counter[str] = Counter()
    for verdict in verdicts:
        word = verdict.verdict.value
        counts[word] += 1
        pod = f" ({verdict.pod})" if verdict.pod else ""
        yield f"{verdict.path}: {word}{pod}{verdict.reason and f': {verdict.reason}'}"
        yield from (f"{verdict.path}: warning: {warning}" for warning in verdict.warnings)
    told = ", ".join(f"{count} {word}" for word, count in sorted(counts.items()))
    total = counts.total()
    yield f"{total} manifest{'' if total == 1 else 's'}{told and f': {told}'}"
