"""How large an ``emptyDir`` of memory may be, and which pages one of large pages has. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from manifests.quantities import amount, is_quantity

HUGE_PAGES: Final = "HugePages"
_RESOURCE: Final = "hugepages-"


def memory_size(limit: int | None, pod_limit: int | None, node: int) -> int:
    """Return the bytes of one: the least of its own limit, the pod's, and what the node has for pods.

    A limit that is missing, or 0, is none.
    """
    return min(each for each in (limit, pod_limit, node) if each)


def page_size(medium: str, resources: Iterable[str]) -> int:
    """Return the bytes of a page for a medium of large pages. Raises ``ValueError`` with what is wrong.

    ``resources`` are the names of all that the pod's containers ask for: a medium that names no size has
    the only one among them.
    """
    sizes = {name.removeprefix(_RESOURCE) for name in resources if name.startswith(_RESOURCE)}
    named = medium.removeprefix(HUGE_PAGES)
    if named:
        text = named.removeprefix("-")
        if not named.startswith("-") or not is_quantity(text) or amount(text) < 1:
            raise ValueError(f"the medium {medium!r} is not known")
        if text not in sizes:
            raise ValueError(f"no container asks for {_RESOURCE}{text}")
        return int(amount(text))
    if len(sizes) != 1:
        asked = ", ".join(sorted(sizes)) or "none"
        raise ValueError(
            f"the medium {medium} needs pages of one size in the pod, which has {asked}"
        )
    (text,) = sizes
    if not is_quantity(text) or amount(text) < 1:
        raise ValueError(f"{_RESOURCE}{text} names no size of a page")
    return int(amount(text))
