"""Amounts become the numbers that kubelets write, and always such that the kernel takes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from files.cgroups.limits import (
    MOST_QUOTA,
    MOST_SHARES,
    MOST_WEIGHT,
    UNLIMITED,
    page_size_name,
    quota_of,
    shares_of,
    weight_of,
)

ANY = st.integers(-(2**70), 2**70)


@pytest.mark.parametrize(
    ("milli_cpu", "shares"),
    [(0, 2), (1, 2), (100, 102), (250, 256), (1000, 1024), (256_000, 262_144), (10**9, 262_144)],
)
def test_requests_become_shares(milli_cpu: int, shares: int) -> None:
    assert shares_of(milli_cpu) == shares


@pytest.mark.parametrize(
    ("shares", "weight"), [(2, 1), (102, 4), (1024, 39), (2048, 79), (262_144, 10_000)]
)
def test_shares_become_the_weight_that_a_kubelet_writes(shares: int, weight: int) -> None:
    assert weight_of(shares) == weight


@pytest.mark.parametrize(
    ("milli_cpu", "period", "quota"),
    [
        (0, 100_000, UNLIMITED),
        (-5, 100_000, UNLIMITED),
        (1, 100_000, 1_000),
        (500, 100_000, 50_000),
        (1500, 10_000, 15_000),
        (10**18, 100_000, MOST_QUOTA),
    ],
)
def test_limits_become_quotas(milli_cpu: int, period: int, quota: int) -> None:
    assert quota_of(milli_cpu, period) == quota


@given(ANY, ANY)
def test_whoever_requests_more_gets_no_less(one: int, other: int) -> None:
    less, more = sorted((one, other))
    assert 2 <= shares_of(less) <= shares_of(more) <= MOST_SHARES
    assert 1 <= weight_of(less) <= weight_of(more) <= MOST_WEIGHT


@given(st.integers(1, 2**70), st.integers(1, 2**70), st.integers(1_000, 1_000_000))
def test_whoever_may_use_more_has_no_smaller_quota(one: int, other: int, period: int) -> None:
    less, more = sorted((one, other))
    assert 1_000 <= quota_of(less, period) <= quota_of(more, period) <= MOST_QUOTA


@pytest.mark.parametrize(
    ("size", "name"),
    [(2**21, "2MB"), (2**30, "1GB"), (64 * 2**10, "64KB"), (2**34, "16GB"), (512, "512B")],
)
def test_sizes_of_huge_pages_have_the_kernels_names(size: int, name: str) -> None:
    assert page_size_name(size) == name
