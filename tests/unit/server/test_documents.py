"""Which verdicts of ``/sourcez`` somebody wants."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from messages.pods import FILE, PodUid
from messages.sources import Epoch, ManifestVerdict, SourceDescribed, Verdict
from messages.units import Timestamp
from server import documents
from server.verdicts import choice_of

WEB = ManifestVerdict(
    path="/m/a.yaml", verdict=Verdict.ACCEPTED, pod="default/web-n", uid=PodUid("u1")
)
WARNED = ManifestVerdict(
    path="/m/b.yaml",
    verdict=Verdict.ACCEPTED,
    pod="default/warned-n",
    uid=PodUid("u2"),
    warnings=("old",),
)
BROKEN = ManifestVerdict(path="/m/c.yaml", verdict=Verdict.REJECTED, reason="no name")
DESCRIBED = SourceDescribed(
    name=FILE,
    ready=True,
    epoch=Epoch(1, 1),
    last_listed=Timestamp(1.0),
    rejected={},
    error="",
    manifests=(WEB, WARNED, BROKEN),
)


@pytest.mark.parametrize(
    ("names", "only_troubled", "found"),
    [
        ([], False, [WEB, WARNED, BROKEN]),
        ([], True, [WARNED, BROKEN]),
        (["web"], False, [WEB]),
        (["u2"], False, [WARNED]),
        (["c.yaml", "u1"], False, [WEB, BROKEN]),
        (["web"], True, []),
    ],
)
def test_manifests_are_chosen_by_names_and_troubles(
    names: Collection[str], found: list[ManifestVerdict], *, only_troubled: bool
) -> None:
    choice = choice_of(names, only_troubled=only_troubled)
    (source,) = documents.sources([DESCRIBED], choice)["sources"]
    assert [each["path"] for each in source["manifests"]] == [each.path for each in found]
    # How many there are is told in any case.
    assert source["verdicts"] == {"accepted": 2, "rejected": 1}
