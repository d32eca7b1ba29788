"""The decision table of mirrors, and how long to wait."""

from __future__ import annotations

import pytest

from actors.api_calls import is_outage, pause
from actors.mirrors.plan import (
    LOOK,
    NAME_BACKOFF,
    NO_NODE,
    NOTHING,
    REFUSED,
    CreateMirror,
    DeleteMirror,
    MirrorSituation,
    StaticSources,
    Step,
    creation_delay,
    edit_delay,
    has_right_mirror,
    is_replacement,
    lag_limit,
    may_have_happened,
    next_step,
)
from messages.api import ApiFailure, FailureKind, Retry
from messages.node import NodeIs, NodeUid
from messages.pods import API, FILE, HTTP, Pod
from messages.units import Seconds
from tests.support.builders import DELETED_AT
from tests.support.mirrors.mirror_stage import NODE, make_secretive, make_static, mirror_made_by

WEB = make_static()
N1 = NodeIs(name=NODE, uid=NodeUid("node-1"), is_deleting=False, document={})
GOING = NodeIs(name=NODE, uid=NodeUid("node-1"), is_deleting=True, document={})
WITHOUT_UID = NodeIs(name=NODE, uid=NodeUid(""), is_deleting=False, document={})


def mirror(static: Pod = WEB, owner: str = "node-1", **changes: object) -> Pod:
    return Pod.of(mirror_made_by(owner, static, **{"uid": "m1", **changes}))


RIGHT = mirror()
OUTDATED = mirror(make_static(content="0"))
FORMER = mirror(owner="former")
DELETING = mirror(deletionTimestamp=DELETED_AT)
SECOND = mirror(uid="m2")
SECRETIVE = make_secretive()
CREATE, DELETE = CreateMirror(WEB, N1), DeleteMirror(RIGHT.uid)

BOTH = frozenset({FILE, HTTP})
ALL = StaticSources(configured=BOTH, listed=BOTH | {API})
FILE_ONLY = StaticSources(configured=BOTH, listed={FILE, API}, are_late=True)
NONE_YET = StaticSources(configured=BOTH, listed={API})
NO_URL = StaticSources(configured={FILE}, listed={API}, are_late=True)


def situation(
    static: Pod | None = WEB,
    *mirrors: Pod,
    node: NodeIs | None = N1,
    sources: StaticSources = ALL,
    origin: str | None = None,
    is_in_doubt: bool = False,
) -> MirrorSituation:
    return MirrorSituation(
        static=static,
        mirrors=mirrors,
        node=node,
        sources=sources,
        origin=origin,
        is_in_doubt=is_in_doubt,
    )


@pytest.mark.parametrize(
    ("now", "step"),
    [
        (situation(WEB), CREATE),
        (situation(WEB, node=None), NO_NODE),
        (situation(WEB, node=GOING), NO_NODE),
        (situation(WEB, node=WITHOUT_UID), NO_NODE),
        (situation(WEB, RIGHT), NOTHING),
        (situation(WEB, RIGHT, node=None), NOTHING),
        (situation(WEB, RIGHT, node=GOING), NOTHING),
        (situation(WEB, OUTDATED), DELETE),
        (situation(WEB, OUTDATED, node=None), NO_NODE),
        (situation(WEB, FORMER), DELETE),
        (situation(WEB, FORMER, node=None), NOTHING),
        (situation(WEB, DELETING), DELETE),
        (situation(WEB, DELETING, node=None), DELETE),
        (situation(WEB, RIGHT, SECOND), LOOK),
        (situation(WEB, RIGHT, is_in_doubt=True), LOOK),
        (situation(WEB, is_in_doubt=True, node=None), LOOK),
        (situation(SECRETIVE), REFUSED),
        (situation(SECRETIVE, node=None), REFUSED),
        (situation(SECRETIVE, is_in_doubt=True), LOOK),
        (situation(SECRETIVE, RIGHT), DELETE),
        (situation(SECRETIVE, RIGHT, node=None), DELETE),
        (situation(SECRETIVE, DELETING), DELETE),
        (situation(SECRETIVE, mirror(SECRETIVE)), NOTHING),
        (situation(SECRETIVE, mirror(SECRETIVE, owner="former")), DELETE),
        (situation(None), NOTHING),
        (situation(None, is_in_doubt=True), LOOK),
        (situation(None, RIGHT), DELETE),
        (situation(None, RIGHT, node=None), DELETE),
        (situation(None, RIGHT, sources=StaticSources(configured=set(), listed={API})), DELETE),
        (situation(None, RIGHT, sources=NONE_YET), NOTHING),
        (situation(None, RIGHT, sources=NONE_YET, origin=FILE), NOTHING),
        (situation(None, DELETING, sources=NONE_YET), DELETE),
        (situation(None, RIGHT, sources=FILE_ONLY), LOOK),
        (situation(None, RIGHT, sources=FILE_ONLY, origin=FILE), DELETE),
        (situation(None, RIGHT, sources=FILE_ONLY, origin=HTTP), NOTHING),
        (situation(None, RIGHT, sources=FILE_ONLY, origin=""), NOTHING),
        (situation(None, RIGHT, sources=NO_URL, origin=HTTP), DELETE),
        (situation(None, RIGHT, sources=NO_URL, origin=FILE), NOTHING),
        (situation(None, RIGHT, sources=FILE_ONLY, origin="made up"), NOTHING),
    ],
)
def test_each_situation_has_one_next_step(now: MirrorSituation, step: Step) -> None:
    assert next_step(now) == step


def test_an_origin_that_the_watch_writes_itself_says_nothing() -> None:
    # The API source has listed by then, as always; but no mirror comes from it.
    now = situation(None, RIGHT, sources=FILE_ONLY, origin=API)
    assert next_step(now) == NOTHING


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        (situation(WEB, RIGHT), True),
        (situation(WEB, RIGHT, node=None), True),
        (situation(WEB, OUTDATED), False),
        (situation(WEB, DELETING), False),
        (situation(WEB, FORMER), False),
        (situation(WEB, RIGHT, is_in_doubt=True), False),
        (situation(WEB), False),
        (situation(None, RIGHT), False),
    ],
)
def test_what_counts_as_shown(now: MirrorSituation, *, expected: bool) -> None:
    assert has_right_mirror(now) is expected


@pytest.mark.parametrize(
    ("creations", "now", "delay"),
    [
        ([], 0.0, 0.0),
        ([0.0] * 5, 0.0, 0.0),
        ([0.0] * 6, 0.0, 10.0),
        ([0.0, 1.0, 2.0, 3.0, 4.0, 5.0], 6.0, 4.0),
        ([0.0] * 6, 10.0, 0.0),
    ],
)
def test_the_seventh_creation_within_ten_seconds_waits(
    creations: list[float], now: float, delay: float
) -> None:
    assert creation_delay([Seconds(at) for at in creations], Seconds(now)) == delay


@pytest.mark.parametrize(
    ("shown", "now", "delay"),
    [(None, 5.0, 0.0), (5.0, 5.0, 1.0), (5.0, 5.75, 0.25), (5.0, 6.0, 0.0)],
)
def test_an_edit_within_a_second_of_the_last_one_waits(
    shown: float | None, now: float, delay: float
) -> None:
    last = None if shown is None else Seconds(shown)
    assert edit_delay(last, Seconds(now)) == delay


@pytest.mark.parametrize(
    ("there", "static", "expected"),
    [
        ([OUTDATED], WEB, True),
        ([FORMER], WEB, False),
        ([DELETING], WEB, False),
        ([RIGHT], SECRETIVE, False),
    ],
    ids=["outdated", "of another owner", "being deleted", "not to be shown"],
)
def test_a_mirror_may_stay_for_a_while_if_only_its_content_is_outdated(
    there: list[Pod], static: Pod, *, expected: bool
) -> None:
    assert is_replacement(there, static) is expected


def failure(kind: FailureKind, retry_after: float | None = None) -> ApiFailure:
    wished = None if retry_after is None else Seconds(retry_after)
    return ApiFailure(kind=kind, retry=Retry.AFTER_DELAY, sentence="somehow", retry_after=wished)


def test_a_wait_doubles_up_to_its_cap_and_is_longer_where_the_server_wishes_so() -> None:
    assert 1.0 <= pause(NAME_BACKOFF, 1) <= 1.5
    assert 4.0 <= pause(NAME_BACKOFF, 3) <= 4.5
    assert pause(NAME_BACKOFF, 50) == 20.0
    assert pause(NAME_BACKOFF, 1, failure(FailureKind.THROTTLED, 7.0)) == 7.0
    assert pause(NAME_BACKOFF, 4, failure(FailureKind.THROTTLED, 7.0)) >= 8.0


def test_an_answer_is_believed_longer_each_time_it_is_confirmed() -> None:
    limits = [lag_limit(confirmations) for confirmations in (0, 1, 2, 6, 100)]
    assert limits == [5.0, 10.0, 20.0, 300.0, 300.0]


@pytest.mark.parametrize(
    ("kind", "says_nothing", "may_be_done"),
    [
        (FailureKind.UNREACHABLE, True, True),
        (FailureKind.TIMEOUT, True, True),
        (FailureKind.LOST, True, True),
        (FailureKind.MALFORMED, True, True),
        (FailureKind.SERVER_ERROR, True, True),
        (FailureKind.THROTTLED, True, False),
        (FailureKind.CREDENTIALS, True, False),
        (FailureKind.UNAUTHORIZED, True, False),
        (FailureKind.FORBIDDEN, False, False),
        (FailureKind.NOT_FOUND, False, False),
        (FailureKind.ALREADY_EXISTS, False, False),
        (FailureKind.CONFLICT, False, False),
        (FailureKind.INVALID, False, False),
        (FailureKind.GONE, False, False),
        (FailureKind.REFUSED, False, False),
    ],
)
def test_outages_are_told_apart_from_refusals(
    kind: FailureKind, *, says_nothing: bool, may_be_done: bool
) -> None:
    assert is_outage(failure(kind)) is says_nothing
    assert may_have_happened(failure(kind)) is may_be_done
