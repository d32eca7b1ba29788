"""Finds what somebody means by a name that was typed. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import PurePath
from urllib.parse import urlencode

from command.failures import NothingFoundError
from command.pod_words import pod_name
from command.reading import Document, parts, text
from command.wording import counted

MOST_NAMED = 5
"""How many pods are named where a word could mean any of several."""


def pods_path(
    *, is_brief: bool = True, namespace: str = "", name: str = "", only_troubled: bool = False
) -> str:
    """Return where an agent lists pods. One of another version may list all of them, and all that it knows.

    ``name`` is what somebody typed: also the beginning of a name, or a UID.
    """
    wanted = {
        "brief": "true" if is_brief else "",
        "namespace": namespace,
        "name": typed(name),
        "troubled": "true" if only_troubled else "",
    }
    query = urlencode({key: said for key, said in wanted.items() if said})
    return f"/pods?{query}" if query else "/pods"


def typed(name: str) -> str:
    """Return a name without the kind that some people type before it."""
    return name.removeprefix("pod/").removeprefix("pods/")


def in_namespace(pods: Iterable[Document], namespace: str) -> list[Document]:
    """Return the pods of ``namespace``; all of them if it is empty."""
    return [
        each for each in pods if not namespace or text(each, "metadata", "namespace") == namespace
    ]


def selected_pod(pods: Sequence[Document], said: str) -> Document | None:
    """Return the pod that is meant by ``said``, or None.

    That is the pod of this name, with or without its namespace, or of this UID. Else it is the static pod
    whose manifest has this name, to which the node's name is added. Else the only one whose name begins so.
    Raises ``NothingFoundError`` if several are meant.
    """
    said = typed(said)
    for matches in (_is_named, _is_static, _begins):
        found = [each for each in pods if matches(each, said)]
        if len(found) == 1:
            return found[0]
        if found:
            names = [pod_name(each) for each in found]
            more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
            raise NothingFoundError(
                f"{said} may be any of {counted(len(found), 'pod')}: "
                f"{', '.join(sorted(names)[:MOST_NAMED])}{more}"
            )
    return None


def _is_named(pod: Document, said: str) -> bool:
    return said in {pod_name(pod), text(pod, "metadata", "name"), text(pod, "metadata", "uid")}


def _is_static(pod: Document, said: str) -> bool:
    node = text(pod, "spec", "nodeName").lower()
    return bool(node) and _is_named(pod, f"{said}-{node}")


def _begins(pod: Document, said: str) -> bool:
    return bool(said) and (
        text(pod, "metadata", "name").startswith(said) or pod_name(pod).startswith(said)
    )


def manifests_named(sources: Document, said: str) -> list[Document]:
    """Return the verdicts on manifests that are meant by ``said``: their file, or their pod."""
    said = typed(said)
    verdicts = [each for source in parts(sources, "sources") for each in parts(source, "manifests")]
    named = [each for each in verdicts if said in _names(each)]
    return named or [
        each
        for each in verdicts
        if said
        and text(each, "verdict") != "accepted"
        and text(each, "pod").rpartition("/")[2].startswith(said)
    ]


def _names(verdict: Document) -> set[str]:
    path, pod = PurePath(text(verdict, "path")), text(verdict, "pod")
    return {str(path), path.name, path.stem, pod, pod.rpartition("/")[2]} - {""}


def manifests_of(sources: Document, pod: Document) -> list[Document]:
    """Return the verdicts on the manifests of ``pod``."""
    uid, name = text(pod, "metadata", "uid"), pod_name(pod)
    return [
        each
        for source in parts(sources, "sources")
        for each in parts(source, "manifests")
        if text(each, "pod") == name or (uid and text(each, "uid") == uid)
    ]
