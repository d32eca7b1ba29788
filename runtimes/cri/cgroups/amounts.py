"""Amounts in a specification: read within bounds, or refused with a reason. Pure.

Pods come from the API server too, so any value may be there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from manifests.quantities import amount, is_quantity
from manifests.requests import CPU, MEMORY, amounts_of
from messages.pods import JsonObject

_HUGE_PAGES: Final = "hugepages-"
_NO_AMOUNTS: Final[dict[str, int]] = {}
_LARGEST_PAGE: Final = 2**40


def amounts_in(quantities: Mapping[str, Any] | None) -> Mapping[str, int]:
    """Return the amounts of a map of quantities. What is negative or unreadable is not among them."""
    if not quantities:
        return _NO_AMOUNTS
    readable = {name: text for name, text in quantities.items() if isinstance(text, str)}
    return {name: value for name, value in amounts_of(readable).items() if value >= 0}


def huge_pages(amounts: Mapping[str, int]) -> dict[int, int]:
    """Return how many bytes there are of each size of huge pages, by that size in bytes."""
    sizes = {name: _page_size(name) for name in amounts}
    return {size: amounts[name] for name, size in sizes.items() if size}


def complaint(resources: JsonObject) -> str:
    """Return what is wrong with requests and limits, for people; empty if nothing is."""
    return next(_complaints(resources), "")


def _complaints(resources: JsonObject) -> Iterator[str]:
    for kind in ("requests", "limits"):
        for name, text in (resources.get(kind) or {}).items():
            if name not in {CPU, MEMORY} and not name.startswith(_HUGE_PAGES):
                continue
            wrong = _wrong(text) or _wrong_page(name)
            if wrong:
                yield f"resources.{kind}.{name}: {wrong}"


def _wrong(text: Any) -> str:
    if not isinstance(text, str) or not is_quantity(text):
        return f"{str(text)[:40]!r} is not a quantity"
    return f"{text[:40]} is negative" if amount(text) < 0 else ""


def _wrong_page(resource: str) -> str:
    if resource.startswith(_HUGE_PAGES) and not _page_size(resource):
        return "not a size of huge pages"
    return ""


def _page_size(resource: str) -> int:
    """Return the size of the huge pages that a resource means, in bytes; 0 if it means none."""
    text = resource.removeprefix(_HUGE_PAGES)
    if text == resource or not is_quantity(text):
        return 0
    size = amount(text)
    return int(size) if 0 < size <= _LARGEST_PAGE and size.denominator == 1 else 0
