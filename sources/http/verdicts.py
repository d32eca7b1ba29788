"""What becomes of one body from the manifest URL: pods and verdicts.

Pure: the way to decode is handed in. A body is one Pod or one PodList, which ``bodies`` reads, and is taken
as a whole or not at all. If one item cannot be used, the last good body stays in effect (rules H7, H8, H11).
Only a good body is remembered (K2), so a bad one is bad at every poll.

A kubelet takes an empty body for "no pods" (rule H4). Here it is an error, since a server that
starts, or a proxy, may answer it. Who wants no pods serves a PodList whose items are ``[]``, or ``null`` in
JSON. In YAML, ``null`` may also be what is left of a list that was cut.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from manifests.conflicts import Conflict, conflicts, served
from manifests.pod_manifest import Decoded
from manifests.reading.document import Document, DocumentError
from manifests.refusals import Refused
from messages.pods import Pod
from messages.sources import ManifestVerdict, RejectReason, Verdict
from sources.http.bodies import Decode, KnownItems, outcome_of


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
    known: KnownItems = field(default_factory=dict, repr=False)
    """The items of the last list, good or not: they need not be decoded again."""


def judge(state: HttpState, body: bytes, decode: Decode, url: str) -> HttpState:
    """Return what becomes of ``state`` when the manifest URL answers ``body``.

    ``url`` is what verdicts show: it has no secrets. Unchanged pods are the identical objects. ``pods`` is
    the identical tuple if none changed, whatever their order in the body.
    """
    digest = hashlib.sha256(body).digest()
    if digest == state.digest:
        return state
    try:
        outcome = outcome_of(body, _reusing(decode, state.pods or ()), state.known)
    except DocumentError as error:
        refused = Refused(code=error.code, reason=error.sentence)
        return replace(refuse(state, refused, url), digest=digest)
    if outcome.single is None:
        after = _judge_list(state, outcome.items, url)
    else:
        after = _judge_single(state, outcome.single, url)
    return replace(after, digest=digest, known=outcome.known)


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


# From the items to pods and verdicts.


def _reusing(decode: Decode, pods: Iterable[Pod]) -> Decode:
    """Return ``decode`` with the objects of ``pods`` in place of those that equal them."""
    known: dict[Pod, Pod] = {}

    def decoded(document: Document) -> Decoded | Refused:
        outcome = decode(document)
        if isinstance(outcome, Refused):
            return outcome
        if not known:
            known.update((pod, pod) for pod in pods)
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
