from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manifests.quantities import amount, is_quantity


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("1", 1),
        ("+1", 1),
        ("-1", -1),
        ("5.", 5),
        (".5", Fraction(1, 2)),
        ("1.5", Fraction(3, 2)),
        ("100m", Fraction(1, 10)),
        ("1u", Fraction(1, 1_000_000)),
        ("1n", Fraction(1, 1_000_000_000)),
        ("1k", 1000),
        ("1M", 10**6),
        ("1G", 10**9),
        ("1T", 10**12),
        ("1P", 10**15),
        ("1E", 10**18),
        ("1Ki", 1024),
        ("1Mi", 1024**2),
        ("1.5Gi", 1024**3 * 3 // 2),
        ("1Ti", 1024**4),
        ("1Pi", 1024**5),
        ("1Ei", 1024**6),
        ("1e3", 1000),
        ("1E3", 1000),
        ("1e+3", 1000),
        ("15e-1", Fraction(3, 2)),
        ("0001", 1),
    ],
)
def test_a_quantity_amounts_to(text: str, value: Fraction) -> None:
    assert is_quantity(text)
    assert amount(text) == value


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            " ",
            ".",
            "m",
            "Gi",
            "e3",
            "+",
            "1 Gi",
            "1GiB",
            "1gi",
            "1K",
            "1mi",
            "1Mb",
            "1e",
            "1e1.5",
        ),
        *(
            "1e3Gi",
            "1.2.3",
            "0x1",
            "1_000",
            "1,5",
            "--1",
            "1-",
            "one",
            "NaN",
            "\u0661",
            "1\n",
            "9" * 101,
        ),
    ],
)
def test_no_quantity_is_taken_for_one(text: str) -> None:
    assert not is_quantity(text)
    with pytest.raises(ValueError, match="not a quantity"):
        amount(text)


def test_an_absurd_exponent_is_no_work() -> None:
    assert amount("1e999999999999") > 2**63
    assert 0 < amount("1e-999999999999") < Fraction(1, 10**9)


@given(whole=st.integers(0, 2**63), places=st.integers(0, 12))
def test_a_decimal_is_exact(whole: int, places: int) -> None:
    digits = f"{whole:0{places + 1}d}"
    text = f"{digits[: len(digits) - places]}.{digits[len(digits) - places :]}"
    assert amount(text) == Fraction(whole, 10**places)
