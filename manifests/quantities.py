"""Quantities as Kubernetes writes them: ``100m``, ``.5``, ``1.5Gi``, ``1e3``."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache

_QUANTITY = re.compile(
    r"([+-]?)([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE])|[eE]([+-]?[0-9]+))?",
)

_MAX_LEN = 100
"""Characters. Longer than any real amount; keeps arithmetic with them short."""

_MAX_EXPONENT = 100
"""Kubernetes caps amounts at 2^63, so a larger exponent changes nothing."""

_FACTORS = {
    **{unit: Fraction(1024) ** power for power, unit in enumerate(("Ki", "Mi", "Gi"), 1)},
    **{unit: Fraction(1024) ** power for power, unit in enumerate(("Ti", "Pi", "Ei"), 4)},
    **{unit: Fraction(1000) ** power for power, unit in enumerate("kMGTPE", 1)},
    **{unit: Fraction(1, 1000**power) for power, unit in enumerate("mun", 1)},
}


def is_quantity(text: str) -> bool:
    """Return whether ``text`` is a well-formed quantity."""
    return len(text) <= _MAX_LEN and _QUANTITY.fullmatch(text) is not None


@lru_cache(maxsize=1024)
def amount(text: str) -> Fraction:
    """Return the exact amount of a quantity. Raises ``ValueError`` for a text that is none."""
    match = _QUANTITY.fullmatch(text) if len(text) <= _MAX_LEN else None
    if match is None:
        raise ValueError("not a quantity")
    sign, digits, unit, exponent = match.groups()
    value = Fraction(digits.rstrip("."))
    if unit:
        value *= _FACTORS[unit]
    elif exponent:
        value *= Fraction(10) ** max(-_MAX_EXPONENT, min(_MAX_EXPONENT, int(exponent)))
    return -value if sign == "-" else value
