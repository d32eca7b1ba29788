"""What becomes of one body from the manifest URL: pods and verdicts.

Pure: the way to decode is handed in. A body is one Pod or one PodList, and is taken as a whole or not at
all. If one item cannot be used, the last good body stays in effect (rules H7, H8, H11). Only a good body is
remembered (K2), so a bad one is bad at every poll.

A kubelet takes an empty body for "no pods" (rule H4, scenarios 20 and 21). Here it is an error, since a
server that starts, or a proxy, may answer it. Who wants no pods serves a PodList whose items are ``[]``, or
``null`` in JSON. In YAML, ``null`` may also be what is left of a list that was cut.
"""

from __future__ import annotations

import hashlib
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Final, TypeAlias

from manifests.findings import FieldFinding, Path
from manifests.pod_manifest import Decoded
from manifests.reading.decoding import read_document
from manifests.reading.document import Document, DocumentError, Located
from manifests.refusals import Refused
from manifests.texts import quoted
from manifests.verdicts.conflicts import Conflict, conflicts
from manifests.verdicts.serving import served
from messages.pods import Pod
from messages.sources import ManifestVerdict, RejectReason, Verdict

Decode: TypeAlias = Callable[[Document], Decoded | Refused]
"""Returns the pod of a document, or a refusal: always the same for the same document."""

MOST_ITEMS: Final = 10_000
"""Items of a list that are taken: some hundred times what a node runs. Each gets a verdict, and 10 MiB have
room for 5 million items that are no pods."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpState:
    """Everything that is known of the bodies so far."""

    pods: tuple[Pod, ...] | None = None
    """What is served: the pods of the last good body, by namespace and name. None before the first."""
    good: tuple[ManifestVerdict, ...] = ()
    """The verdicts on the last good body."""
    verdicts: tuple[ManifestVerdict, ...] = ()
    """The verdicts on the last body."""
    error: str = ""
    """Why the last body was not taken; empty if it was."""
    digest: bytes = field(default=b"", repr=False)
    """That of the last body: the same one need not be judged again."""


def judge(state: HttpState, body: bytes, decode: Decode, url: str) -> HttpState:
    """Return what becomes of ``state`` when the manifest URL answers ``body``.

    ``url`` is what verdicts show: it has no secrets. Unchanged pods are the identical objects. ``pods`` is
    the identical tuple if none changed, whatever their order in the body.
    """
    digest = hashlib.sha256(body).digest()
    if digest == state.digest:
        return state
    decode = _reusing(decode, state.pods or ())
    try:
        document = _document(body)
        if document.value["kind"] == "PodList":
            _check_list(document, is_json=_is_json(body))
            after = _judge_list(state, _items(document, decode), url)
        else:
            after = _judge_single(state, decode(document), url)
    except DocumentError as error:
        after = refuse(state, Refused(code=error.code, reason=error.sentence), url)
    return replace(after, digest=digest)


def confirm(state: HttpState) -> HttpState:
    """Return what becomes of ``state`` when the last good body is answered again."""
    return replace(state, verdicts=state.good, error="", digest=b"")


def refuse(state: HttpState, refused: Refused, url: str) -> HttpState:
    """Return what becomes of ``state`` when an answer cannot be used as a whole: the pods stay."""
    kept = tuple(
        replace(
            verdict, verdict=Verdict.KEPT, reason=refused.reason, code=refused.code, warnings=()
        )
        for verdict in state.good
        if verdict.verdict is Verdict.ACCEPTED
    )
    rejected = ManifestVerdict(
        path=url,
        verdict=Verdict.REJECTED,
        reason=refused.reason,
        code=refused.code,
        pod=refused.pod,
    )
    return replace(state, verdicts=kept or (rejected,), error=refused.reason, digest=b"")


# From the body to its items.


def _document(body: bytes) -> Document:
    """Return the document in ``body``; raises ``DocumentError`` when it is neither Pod nor PodList."""
    if not body.strip():
        raise DocumentError(RejectReason.EMPTY, "the body is empty")
    document = read_document(body)
    kind = document.value.get("kind") if isinstance(document.value, dict) else None
    if kind not in ("Pod", "PodList"):
        found = f", not {quoted(kind)}" if kind and isinstance(kind, str) else ""
        raise _not_pods(document, ("kind",), f"must be Pod or PodList{found}")
    return document


def _is_json(body: bytes) -> bool:
    """Return whether ``body``, which could be read, was read as JSON."""
    return body.removeprefix(BOM_UTF8).lstrip().startswith(b"{")


def _check_list(document: Document, *, is_json: bool) -> None:
    """Raise ``DocumentError`` if ``document`` is no valid PodList."""
    version, items = document.value.get("apiVersion"), document.value.get("items", ...)
    if version != "v1":
        raise _not_pods(document, ("apiVersion",), "must be v1")
    if items is ... or (items is None and not is_json):
        # A kubelet takes this for an empty list. It is also what is left of a list that was cut. A null
        # of JSON, as Go writes it, is not: JSON that was cut cannot be read.
        raise _not_pods(document, ("items",), "is required; [] stands for no pods")
    if not isinstance(items, list | None):
        raise _not_pods(document, ("items",), "must be a list")
    if items is not None and len(items) > MOST_ITEMS:
        raise _not_pods(document, ("items",), f"must not be more than {MOST_ITEMS:,}")


def _items(document: Document, decode: Decode) -> dict[str, Decoded | Refused]:
    """Return what becomes of each item of a PodList, by its place such as ``items[0]``."""
    items = document.value["items"] or ()
    located = cache(document.locate)
    outcomes = [_decoded(document, index, located, decode) for index in range(len(items))]
    # Warnings about the list as a whole are told with its first item.
    if outcomes and isinstance(outcomes[0], Decoded):
        whole = [finding for finding in document.warnings if not _is_of_an_item(finding)]
        told = tuple(finding.sentence(document.line) for finding in whole)
        outcomes[0] = replace(outcomes[0], warnings=(*told, *outcomes[0].warnings))
    return {f"items[{index}]": outcome for index, outcome in enumerate(outcomes)}


def _decoded(
    document: Document, index: int, located: Callable[[], Located | None], decode: Decode
) -> Decoded | Refused:
    here: Path = ("items", index)
    item = document.value["items"][index]
    if isinstance(item, dict):
        # Lists leave out what all items have in common. If an item has it, it has to be right.
        item.setdefault("apiVersion", "v1")
        item.setdefault("kind", "Pod")
        if item["kind"] != "Pod":
            error = _not_pods(document, (*here, "kind"), "must be Pod")
            return Refused(code=error.code, reason=error.sentence)
    warnings = [
        FieldFinding(finding.path[2:], finding.text)
        for finding in document.warnings
        if finding.path[:2] == here
    ]
    return decode(Document(item, lambda: _located_at(located(), here), warnings))


def _is_of_an_item(finding: FieldFinding) -> bool:
    return len(finding.path) > 1 and finding.path[0] == "items"


def _located_at(located: Located | None, here: Path) -> Located | None:
    if located is None:
        return None
    _, index = here
    return Located(located.root["items"][index], located.lines, located.line(here))


def _not_pods(document: Document, path: Path, text: str) -> DocumentError:
    return DocumentError(RejectReason.NOT_A_POD, FieldFinding(path, text).sentence(document.line))


# From the items to pods and verdicts.


def _reusing(decode: Decode, pods: Iterable[Pod]) -> Decode:
    """Return ``decode`` with the objects of ``pods`` in place of those that equal them."""
    known = {pod: pod for pod in pods}

    def decoded(document: Document) -> Decoded | Refused:
        outcome = decode(document)
        if isinstance(outcome, Refused):
            return outcome
        return replace(outcome, pod=known.get(outcome.pod, outcome.pod))

    return decoded


def _judge_single(state: HttpState, outcome: Decoded | Refused, url: str) -> HttpState:
    if isinstance(outcome, Refused):
        return refuse(state, outcome, url)
    return _taken(state, {url: outcome})


def _judge_list(state: HttpState, items: Mapping[str, Decoded | Refused], url: str) -> HttpState:
    good: dict[str, Decoded] = {}
    for place, outcome in items.items():
        if isinstance(outcome, Refused):
            held = tuple(_held_back(state, items, place, outcome.code, url))
            return replace(state, verdicts=held, error=f"{place}: {outcome.reason}")
        good[place] = outcome
    return _taken(state, good, f"{url}#")


def _taken(state: HttpState, items: Mapping[str, Decoded], prefix: str = "") -> HttpState:
    """Return the state after a body whose items can all be used. In a conflict the first item wins."""
    lost = conflicts((place, item.pod) for place, item in items.items())
    pods = served((item.pod for place, item in items.items() if place not in lost), state.pods)
    verdicts = tuple(
        _verdict(prefix + place, item, lost.get(place)) for place, item in items.items()
    )
    return replace(state, pods=pods, good=verdicts, verdicts=verdicts, error="")


def _verdict(path: str, item: Decoded, lost: Conflict | None = None) -> ManifestVerdict:
    """Return the verdict on a good manifest. Its pod is served unless it lost to another one."""
    return ManifestVerdict(
        path=path,
        verdict=Verdict.SHADOWED if lost else Verdict.ACCEPTED,
        reason=f"{lost.winner} has {lost.over} and comes first" if lost else "",
        warnings=item.warnings,
        pod=item.pod.display_name,
        uid=item.pod.uid,
    )


def _held_back(
    state: HttpState,
    items: Mapping[str, Decoded | Refused],
    bad: str,
    code: RejectReason,
    url: str,
) -> Iterator[ManifestVerdict]:
    """Yield the verdicts on a list whose item ``bad`` cannot be used: what is served stays."""
    still_served = {pod.display_name: pod for pod in state.pods or ()}
    cause = f"{bad} cannot be used, and a list is taken as a whole or not at all"
    for place, outcome in items.items():
        name = outcome.pod if isinstance(outcome, Refused) else outcome.pod.display_name
        pod = still_served.pop(name, None)
        if isinstance(outcome, Decoded) and outcome.pod is pod:
            yield _verdict(f"{url}#{place}", outcome)
        else:
            refused = outcome if isinstance(outcome, Refused) else Refused(code=code, reason=cause)
            yield _refusal(f"{url}#{place}", refused, name, pod)
    for name, pod in still_served.items():
        yield _refusal(
            url,
            Refused(code=code, reason=f"it is not in the list any more, but {cause}"),
            name,
            pod,
        )


def _refusal(path: str, refused: Refused, name: str, served: Pod | None) -> ManifestVerdict:
    """Return the verdict on what cannot be used, or not yet; ``served`` is its pod, if it has one."""
    return ManifestVerdict(
        path=path,
        verdict=Verdict.REJECTED if served is None else Verdict.KEPT,
        reason=refused.reason,
        code=refused.code,
        pod=name,
        uid=None if served is None else served.uid,
    )
