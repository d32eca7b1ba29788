"""Events and lists, from bytes."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube.errors import ApiError
from kube.streams.parsing import LineSplitter, StreamEvent, event_of, is_too_new, page_of
from messages.api import FailureKind
from tests.support.canary import CANARY
from tests.support.kube.watch_stage import event_line, secret, secret_list

LIMIT = 1000


@given(
    texts=st.lists(
        st.text(st.characters(codec="utf-8", exclude_characters="\n"), min_size=1), max_size=8
    ),
    cuts=st.lists(st.integers(min_value=1, max_value=7), min_size=1),
)
def test_lines_are_the_same_however_they_are_chunked(texts: list[str], cuts: list[int]) -> None:
    wanted = [text.encode() for text in texts if text.encode().strip()]
    body = b"".join(text.encode() + b"\n" for text in texts) + b"the rest"
    lines = LineSplitter(LIMIT)
    got: list[bytes] = []
    while body:
        size = cuts[len(body) % len(cuts)]
        got += lines.split(body[:size])
        body = body[size:]
    assert got == wanted


@pytest.mark.parametrize(
    "chunks",
    [[b"x" * 1001 + b"\n"], [b"x" * 600, b"x" * 600], [b"x" * 600, b"x" * 600 + b"\n"]],
    ids=["whole", "growing", "last-chunk"],
)
def test_a_line_over_the_limit_is_refused(chunks: list[bytes]) -> None:
    lines = LineSplitter(LIMIT)
    with pytest.raises(ApiError, match="longer than 1000 bytes") as refused:
        assert [list(lines.split(chunk)) for chunk in chunks]
    assert refused.value.kind is FailureKind.MALFORMED


def test_lines_before_the_one_that_is_too_long_are_given_out() -> None:
    split = LineSplitter(LIMIT).split(b"one\n\n \ntwo\n" + b"x" * 1001)
    assert [next(split), next(split)] == [b"one", b"two"]
    with pytest.raises(ApiError):
        next(split)


def test_a_line_of_just_the_limit_is_none_too_many() -> None:
    assert list(LineSplitter(LIMIT).split(b"x" * 1000 + b"\n")) == [b"x" * 1000]


def test_an_event_is_its_type_object_and_version() -> None:
    line = event_line("DELETED", secret("web", "11")).strip()
    assert event_of(line) == StreamEvent(type="DELETED", object=secret("web", "11"), version="11")


def test_an_error_event_needs_no_version() -> None:
    event = event_of(b'{"type":"ERROR","object":{"kind":"Status","code":410}}')
    assert (event.type, event.version) == ("ERROR", "")


def test_items_keep_what_they_say_of_themselves() -> None:
    document = secret_list("10", secret("web", "7"))
    document["items"].append({"kind": "ConfigMap", "metadata": {}})
    page = page_of(json.dumps(document).encode())
    assert [item["kind"] for item in page.objects] == ["Secret", "ConfigMap"]
    assert {item["apiVersion"] for item in page.objects} == {"v1"}


def test_the_last_page_has_no_token() -> None:
    first = page_of(json.dumps(secret_list("10", token="more")).encode())
    last = page_of(json.dumps(secret_list("10")).encode())
    assert (first.next, last.next) == ("more", "")


@pytest.mark.parametrize(
    "line",
    [
        f'{{"type":"ADDED","object":{{"data":"{CANARY}}}',
        f'{{"type":"{CANARY}","object":{{}}}}',
        f'{{"type":"ADDED","object":"{CANARY}"}}',
        f'["{CANARY}"]',
        f'{{"type":"ADDED","object":{{"data":"{CANARY}"}}}}',
        f'{{"type":{{"{CANARY}":1}},"object":{{}}}}',
    ],
)
def test_what_cannot_be_read_is_not_quoted(line: str) -> None:
    with pytest.raises(ApiError) as refused:
        event_of(line.encode())
    assert CANARY not in f"{refused.value!r} {refused.value} {refused.value.__cause__}"
    assert refused.value.__suppress_context__ or refused.value.__context__ is None
    with pytest.raises(ApiError) as refused:
        page_of(line.encode())
    assert CANARY not in repr(refused.value)


TOO_LARGE = "Too large resource version"


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (
            {"reason": "Timeout", "details": {"causes": [{"reason": "ResourceVersionTooLarge"}]}},
            True,
        ),
        ({"reason": "Timeout", "details": {"causes": [{"message": TOO_LARGE}]}}, True),
        ({"reason": "Timeout", "message": f"Timeout: {TOO_LARGE}: 9, current: 5"}, True),
        ({"reason": "Timeout", "message": "request did not complete"}, False),
        ({"reason": "InternalError", "message": TOO_LARGE}, False),
        ({"reason": "Timeout", "details": {"causes": [7, {"reason": 7}]}}, False),
        ({"reason": "Timeout", "details": {"causes": "many"}}, False),
        ([], False),
    ],
    ids=["reason", "cause", "message", "timeout", "words", "odd", "text", "array"],
)
def test_a_version_that_the_server_has_not_got_is_known_in_all_releases(
    status: object,
    expected: bool,  # noqa: FBT001  # a column of the table
) -> None:
    assert is_too_new(json.dumps(status).encode()) is expected


def test_a_body_that_is_no_status_says_nothing_of_versions() -> None:
    assert not is_too_new(b"<html>Gateway Timeout</html>")
