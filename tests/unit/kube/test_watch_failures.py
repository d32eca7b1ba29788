"""Which watches fail, and what of it is in the log."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any, TypeAlias

import pytest

from kube.streams.failures import MOST_NAMED, WatchFailures
from messages.api import ApiFailure, FailureKind, Retry
from messages.watches import WatchFailed, WatchTarget

Logs: TypeAlias = list[MutableMapping[str, Any]]

HERE = "https://here:6443"
THERE = "https://there:6443"
OF_ALL = [
    FailureKind.UNREACHABLE,
    FailureKind.TIMEOUT,
    FailureKind.CREDENTIALS,
    FailureKind.UNAUTHORIZED,
]


def secret(number: int, namespace: str = "default") -> WatchTarget:
    path = f"/api/v1/namespaces/{namespace}/secrets"
    return WatchTarget(path=path, field_selector=f"metadata.name=s{number}")


WEB, DB = secret(1), secret(2)


def failed(kind: FailureKind, target: WatchTarget = WEB, status: int = 0) -> WatchFailed:
    sentence = f"cannot list {target.field_selector}: {kind.value}"
    failure = ApiFailure(kind=kind, retry=Retry.AFTER_DELAY, sentence=sentence, status=status)
    return WatchFailed(target=target, failure=failure)


def lines(logs: Logs) -> list[tuple[str, str, str]]:
    return [
        (line["log_level"], line["event"], line.get("reason") or line["reason_was"])
        for line in logs
    ]


@pytest.mark.parametrize("kind", [*OF_ALL, FailureKind.SERVER_ERROR])
def test_a_thousand_watches_that_fail_together_are_two_lines(kind: FailureKind, logs: Logs) -> None:
    failures = WatchFailures()
    targets = [secret(number) for number in range(1000)]
    news = [failures.note(failed(kind, target), HERE) for target in targets * 3]
    assert news == [True] * 1000 + [False] * 2000
    reason = f"cannot list metadata.name=s0: {kind.value}"
    assert lines(logs) == [("warning", "watches fail", reason)]

    assert [failures.recover(target) for target in targets * 2] == [True] * 1000 + [False] * 1000
    assert lines(logs)[1:] == [("info", "watches no longer fail", reason)]
    assert logs[1]["watches"] == 1000


def words(logs: Logs, last: int) -> list[str]:
    return [line["event"] for line in logs[-last:]]


def test_each_of_the_first_few_forbidden_objects_is_named(logs: Logs) -> None:
    failures = WatchFailures()
    failures.note(failed(FailureKind.FORBIDDEN, WEB), HERE)
    failures.note(failed(FailureKind.FORBIDDEN, DB), HERE)
    failures.note(failed(FailureKind.FORBIDDEN, DB), HERE)
    failures.recover(WEB)
    assert lines(logs) == [
        ("warning", "watches fail", "cannot list metadata.name=s1: forbidden"),
        ("warning", "watches fail", "cannot list metadata.name=s2: forbidden"),
        ("info", "watches no longer fail", "cannot list metadata.name=s1: forbidden"),
    ]


def forbid(failures: WatchFailures, numbers: range) -> list[WatchTarget]:
    """Have these objects forbidden, and return them."""
    targets = [secret(number) for number in numbers]
    assert all(failures.note(failed(FailureKind.FORBIDDEN, target), HERE) for target in targets)
    return targets


def test_a_thousand_forbidden_objects_are_some_names_and_a_count(logs: Logs) -> None:
    failures = WatchFailures()
    targets = forbid(failures, range(1000))
    assert len(logs) == MOST_NAMED + 1
    assert lines(logs)[-1] == (
        "warning",
        "more watches fail, and are only counted",
        f"cannot list metadata.name=s{MOST_NAMED}: forbidden",
    )
    # Each stays what it was.
    assert not any(failures.note(failed(FailureKind.FORBIDDEN, each), HERE) for each in targets)
    assert len(logs) == MOST_NAMED + 1

    assert all(failures.recover(target) for target in targets)
    assert len(logs) == 2 * (MOST_NAMED + 1)
    assert set(words(logs, MOST_NAMED + 1)) == {"watches no longer fail"}
    assert sorted(line["watches"] for line in logs[-MOST_NAMED - 1 :]) == [1] * MOST_NAMED + [
        1000 - MOST_NAMED
    ]


def test_objects_that_take_turns_do_not_fill_the_log(logs: Logs) -> None:
    failures = WatchFailures()
    first = forbid(failures, range(MOST_NAMED + 1))
    failures.recover(first[0])
    failures.recover(first[1])
    said = len(logs)
    # One more has a line of its own when all the others that have none are over, and not before.
    forbid(failures, range(100, 200))
    assert len(logs) == said
    assert all(failures.recover(secret(number)) for number in range(100, 200))
    assert len(logs) == said
    failures.recover(first[-1])
    assert len(logs) == said + 1
    assert logs[-1]["watches"] == 101
    forbid(failures, range(200, 201))
    assert words(logs, 1) == ["watches fail"]


def test_a_collection_that_is_forbidden_is_named_beside_its_objects(logs: Logs) -> None:
    failures = WatchFailures()
    whole = WatchTarget(path=WEB.path)
    failures.note(failed(FailureKind.FORBIDDEN, whole), HERE)
    failures.note(failed(FailureKind.FORBIDDEN, WEB), HERE)
    assert words(logs, 2) == ["watches fail"] * 2


def test_what_is_forbidden_in_one_namespace_says_nothing_of_another(logs: Logs) -> None:
    failures = WatchFailures()
    other = secret(1, "other")
    failures.note(failed(FailureKind.FORBIDDEN), HERE)
    failures.note(failed(FailureKind.FORBIDDEN, other), HERE)
    assert len(logs) == 2
    failures.recover(WEB)
    assert len(logs) == 3
    failures.recover(other)
    assert len(logs) == 4


@pytest.mark.parametrize("kind", OF_ALL)
def test_what_all_have_in_common_is_one_trouble_in_all_namespaces(
    kind: FailureKind, logs: Logs
) -> None:
    failures = WatchFailures()
    failures.note(failed(kind), HERE)
    failures.note(failed(kind, secret(1, "other")), HERE)
    assert len(logs) == 1


def test_another_server_is_another_trouble(logs: Logs) -> None:
    failures = WatchFailures()
    failures.note(failed(FailureKind.UNREACHABLE), HERE)
    failures.note(failed(FailureKind.UNREACHABLE, DB), THERE)
    assert len(logs) == 2


def test_a_server_that_is_away_does_not_end_a_refusal(logs: Logs) -> None:
    failures = WatchFailures()
    failures.note(failed(FailureKind.FORBIDDEN), HERE)
    failures.note(failed(FailureKind.UNREACHABLE), HERE)
    failures.note(failed(FailureKind.TIMEOUT), HERE)
    assert [line["log_level"] for line in logs] == ["warning"] * 3
    # It is back, and still refuses: that is no news.
    failures.note(failed(FailureKind.FORBIDDEN), HERE)
    assert sorted(lines(logs)[3:]) == [
        ("info", "watches no longer fail", f"cannot list metadata.name=s1: {kind.value}")
        for kind in (FailureKind.TIMEOUT, FailureKind.UNREACHABLE)
    ]


def test_who_is_refused_as_a_user_may_still_be_forbidden(logs: Logs) -> None:
    failures = WatchFailures()
    failures.note(failed(FailureKind.FORBIDDEN), HERE)
    failures.note(failed(FailureKind.UNREACHABLE), HERE)
    failures.note(failed(FailureKind.UNAUTHORIZED), HERE)
    assert [line["log_level"] for line in logs] == ["warning"] * 3 + ["info"]
    assert logs[3]["reason_was"].endswith("unreachable")
    failures.recover(WEB)
    assert len(logs) == 6


def test_a_failure_for_another_reason_is_news(logs: Logs) -> None:
    failures = WatchFailures()
    assert failures.note(failed(FailureKind.SERVER_ERROR, status=500), HERE)
    assert failures.note(failed(FailureKind.SERVER_ERROR, status=503), HERE)
    assert not failures.note(failed(FailureKind.SERVER_ERROR, status=503), HERE)
    # To those who watch; in the log it is the same trouble.
    assert len(logs) == 1


def test_what_nobody_wants_any_more_is_no_trouble(logs: Logs) -> None:
    failures = WatchFailures()
    failures.note(failed(FailureKind.FORBIDDEN), HERE)
    failures.forget(DB)
    assert failures.of(WEB) == failed(FailureKind.FORBIDDEN)
    failures.forget(WEB)
    assert failures.of(WEB) is None
    assert [line["event"] for line in logs[1:]] == ["failing watches are no longer wanted"]
    assert not failures.recover(WEB)


def test_who_is_not_among_the_wanted_is_no_trouble(logs: Logs) -> None:
    failures = WatchFailures()
    failures.note(failed(FailureKind.FORBIDDEN), HERE)
    failures.keep_only({WEB, DB})
    assert failures.of(WEB) == failed(FailureKind.FORBIDDEN)
    failures.keep_only({DB})
    assert failures.of(WEB) is None
    assert [line["event"] for line in logs[1:]] == ["failing watches are no longer wanted"]


def test_an_uncertain_target_is_no_line_in_the_log_and_neither_is_its_end(logs: Logs) -> None:
    failures = WatchFailures()
    uncertain = failed(FailureKind.UNREACHABLE)
    failures.note_uncertain(uncertain, HERE)
    assert failures.of(WEB) == uncertain
    assert failures.recover(WEB)
    assert logs == []


def test_a_failure_of_an_uncertain_target_is_news_and_begins_a_line(logs: Logs) -> None:
    failures = WatchFailures()
    failures.note_uncertain(failed(FailureKind.UNREACHABLE), HERE)
    assert failures.note(failed(FailureKind.UNREACHABLE), HERE)
    assert not failures.note(failed(FailureKind.UNREACHABLE), HERE)
    assert words(logs, 1) == ["watches fail"]
    failures.recover(WEB)
    assert words(logs, 2) == ["watches fail", "watches no longer fail"]


def test_an_uncertain_target_counts_with_an_ongoing_cause(logs: Logs) -> None:
    failures = WatchFailures()
    failures.note(failed(FailureKind.UNREACHABLE, WEB), HERE)
    failures.note_uncertain(failed(FailureKind.UNREACHABLE, DB), HERE)
    failures.recover(WEB)
    assert words(logs, 2) == ["watches fail"]
    failures.recover(DB)
    assert (words(logs, 1), logs[-1]["watches"]) == (["watches no longer fail"], 2)
