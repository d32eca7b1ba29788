"""From a body of the manifest URL to what becomes of each pod in it. Pure: the way to decode is handed in.

A body is one Pod or one PodList. Lists may be long, so an item that is known by its text is not decoded
again: a list in which one pod changed costs that pod and a look at each other item. YAML has to be read as a
whole before its items can be told apart, and a known one spares what comes after that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from typing import Final, NamedTuple, TypeAlias

from manifests.findings import FieldFinding, Path
from manifests.pod_manifest import Decoded
from manifests.reading.decoding import canonical_json, is_json, read_document, text_of
from manifests.reading.document import (
    MAX_BYTES,
    Document,
    DocumentError,
    Located,
    refuse_heavy,
)
from manifests.reading.json_lists import JsonList, take_apart
from manifests.reading.yaml11 import read_yaml
from manifests.refusals import Refused
from manifests.texts import quoted
from messages.sources import RejectReason

Decode: TypeAlias = Callable[[Document], Decoded | Refused]
"""Returns the pod of a document, or a refusal: always the same for the same document."""


class KnownItem(NamedTuple):
    """What became of an item."""

    decoded: Decoded
    line: int
    """Where it stood. Warnings name lines, so elsewhere they are others."""


KnownItems: TypeAlias = Mapping[bytes, KnownItem]
"""The items of a list that could be used, by a digest of each."""

MOST_ITEMS: Final = 10_000
"""Items of a list that are taken: some hundred times what a node runs. Each gets a verdict."""
BYTES_OF_AN_ITEM: Final = 64_000
"""Room in a list for each of its items, beside the bytes that any document may have."""
MOST_BYTES: Final = 256_000_000
"""Bytes of a body, whatever is in it."""
MOST_YAML_VALUES: Final = 3_000_000
"""Values of a list in YAML: 300 for each item, where a small pod has 70. YAML is read slowly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyOutcome:
    """What becomes of a body that can be read."""

    single: Decoded | Refused | None = None
    """Of a body that is one Pod."""
    items: Mapping[str, Decoded | Refused]
    """Of a list, by the place of each item, such as ``items[0]``."""
    known: KnownItems


def outcome_of(body: bytes, decode: Decode, known: KnownItems) -> BodyOutcome:
    """Return what becomes of ``body``. Raises ``DocumentError`` if it is neither a Pod nor a PodList.

    ``known`` are the items of the body before.
    """
    if not body.strip():
        raise DocumentError(RejectReason.EMPTY, "the body is empty")
    if len(body) >= MOST_BYTES:
        raise DocumentError(RejectReason.TOO_LARGE, "256 MB or more")
    text = text_of(body)
    listed = take_apart(text, MOST_ITEMS) if is_json(text) else None
    if listed is not None and _kind(listed.rest) == "PodList":
        _check_list(listed.rest, is_json=True)
        if len(body) >= MAX_BYTES + len(listed.items) * BYTES_OF_AN_ITEM:
            sentence = f"10 MiB or more, and 64 kB for each of its {len(listed.items):,} items"
            raise DocumentError(RejectReason.TOO_LARGE, sentence)
        return _list_outcome(listed.rest, _texts(listed), decode, known)
    document = read_document(body) if is_json(text) else read_yaml(text, most=MOST_YAML_VALUES)
    if _kind(document) == "PodList":
        _check_list(document, is_json=is_json(text))
        return _list_outcome(document, _values(document), decode, known)
    refuse_heavy(document.value)
    if _kind(document) == "Pod":
        return BodyOutcome(single=decode(document), items={}, known={})
    kind = _kind(document)
    found = f", not {quoted(kind)}" if kind and isinstance(kind, str) else ""
    raise _not_pods(document, ("kind",), f"must be Pod or PodList{found}")


def _kind(document: Document) -> object:
    return document.value.get("kind") if isinstance(document.value, dict) else None


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


# The items of a list.


class _Item(NamedTuple):
    digest: bytes
    """Empty if the item has to be decoded in any case."""
    line: int
    """Where it stands; 0 if that says nothing of the lines within it."""
    read: Callable[[], Document]
    """Raises ``DocumentError``."""

    def known_from(self, known: KnownItems) -> Decoded | None:
        """Return what became of the item before, if that says all of it."""
        found = known.get(self.digest)
        if found is None or (found.decoded.warnings and found.line != self.line):
            return None
        return found.decoded


def _texts(listed: JsonList) -> Iterator[_Item]:
    """Yield the items of a list in JSON. Those that are known are never made values of."""
    for item in listed.items:
        digest = blake2b(listed.text_of(item).encode(), digest_size=16).digest()
        yield _Item(digest, item.line, partial(listed.read, item))


def _values(document: Document) -> Iterator[_Item]:
    """Yield the items of a list that was read as a whole."""
    located = document.locate()
    for index, value in enumerate(document.value["items"] or ()):
        here: Path = ("items", index)
        warnings = [
            FieldFinding(finding.path[2:], finding.text)
            for finding in document.warnings
            if finding.path[:2] == here
        ]
        item = Document(value, partial(_located_at, located, index), warnings)
        digest = b"" if warnings else _digest_of(item)
        yield _Item(digest, 0, partial(_checked, item))


def _digest_of(item: Document) -> bytes:
    # Longer than those of texts, so that the two are never mistaken for each other.
    return blake2b(canonical_json(item.value).encode(), digest_size=20).digest()


def _checked(item: Document) -> Document:
    refuse_heavy(item.value)
    return item


def _located_at(whole: Located | None, index: int) -> Located | None:
    return whole and Located(whole.root["items"][index], whole.lines, whole.line(("items", index)))


def _list_outcome(
    rest: Document, items: Iterator[_Item], decode: Decode, known: KnownItems
) -> BodyOutcome:
    outcomes: list[Decoded | Refused] = []
    fresh: dict[bytes, KnownItem] = {}
    for index, item in enumerate(items):
        outcome = item.known_from(known) or _outcome(index, item.read, decode)
        # Warnings name lines. Where those are not known from the item's text, it is decoded each time.
        if item.digest and isinstance(outcome, Decoded) and (item.line or not outcome.warnings):
            fresh[item.digest] = KnownItem(outcome, item.line)
        outcomes.append(outcome)
    # Warnings about the list as a whole are told with its first item.
    whole = [finding for finding in rest.warnings if not _is_of_an_item(finding)]
    if whole and outcomes and isinstance(outcomes[0], Decoded):
        told = tuple(finding.sentence(rest.line) for finding in whole)
        outcomes[0] = replace(outcomes[0], warnings=(*told, *outcomes[0].warnings))
    places = {f"items[{index}]": outcome for index, outcome in enumerate(outcomes)}
    return BodyOutcome(items=places, known=fresh)


def _outcome(index: int, read: Callable[[], Document], decode: Decode) -> Decoded | Refused:
    try:
        document = read()
        _complete(document, index)
    except DocumentError as error:
        return Refused(code=error.code, reason=error.sentence)
    return decode(document)


def _complete(document: Document, index: int) -> None:
    """Add what lists leave out since all items have it in common. An item that has it must have it right."""
    item = document.value
    if isinstance(item, dict):
        item.setdefault("apiVersion", "v1")
        item.setdefault("kind", "Pod")
        if item["kind"] != "Pod":
            finding = FieldFinding(("items", index, "kind"), "must be Pod")
            sentence = finding.sentence(lambda path: document.line(path[2:]))
            raise DocumentError(RejectReason.NOT_A_POD, sentence)


def _is_of_an_item(finding: FieldFinding) -> bool:
    return len(finding.path) > 1 and finding.path[0] == "items"


def _not_pods(document: Document, path: Path, text: str) -> DocumentError:
    return DocumentError(RejectReason.NOT_A_POD, FieldFinding(path, text).sentence(document.line))
