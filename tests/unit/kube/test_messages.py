"""What of the API server's own messages people get to see, and what of them may be secret."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kube.errors import error_of_answer, error_of_status

CANARY = "canary-3f9c7b"
CALLING = "Internal error occurred: failed calling webhook"


def said(code: int, message: str) -> str:
    """Return what is said of an answer with ``message``."""
    body = {"kind": "Status", "apiVersion": "v1", "message": message}
    return str(error_of_answer(code, {}, json.dumps(body).encode()))


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (
            'admission webhook "images.example.com" denied the request: image registry not allowed',
            'admission webhook "images.example.com" denied the request: image registry not allowed',
        ),
        (
            f'admission webhook "x" denied the request: env PASSWORD="{CANARY}" is too short',
            'admission webhook "x" denied the request: env PASSWORD=… is too short',
        ),
        (
            f"admission webhook \"x\" denied the request: env PASSWORD='{CANARY} a' is too short",
            'admission webhook "x" denied the request: env PASSWORD=… is too short',
        ),
        (
            f'admission webhook "x" denied the request: env PASSWORD=\'{CANARY} and no end',
            'admission webhook "x" denied the request: env PASSWORD=…',
        ),
        (
            "admission webhook \"x\" denied the request: a-rule: 'validation failed at /spec/'",
            "admission webhook \"x\" denied the request: a-rule: 'validation failed at /spec/'",
        ),
        (
            f'admission webhook "x" denied the request: pod {{"env": [{CANARY}]}} is bad',
            'admission webhook "x" denied the request: pod …',
        ),
        (
            f'admission webhook "a\\"{CANARY}" denied the request',
            "admission webhook … denied the request",
        ),
        (
            f'pods "web" is forbidden: ValidatingAdmissionPolicy \'p\' denied: not "{CANARY}"',
            "pods … is forbidden: ValidatingAdmissionPolicy 'p' denied: not …",
        ),
        (
            f'{CALLING} "x": Post "https://u:{CANARY}@hook?token={CANARY}": no such host',
            f'{CALLING} "x": Post …: no such host',
        ),
        (
            f"{CALLING} \"x\": could not parse {{'env': '{CANARY}'}}",
            f'{CALLING} "x": could not parse …',
        ),
        (
            f'{CALLING} "x": Post https://u:{CANARY}@hook/path?token={CANARY} no such host',
            f'{CALLING} "x": Post https://…@hook/path?… no such host',
        ),
    ],
)
@pytest.mark.parametrize(("code", "kind"), [(403, "forbidden"), (500, "server error")])
def test_a_webhook_that_denies_keeps_its_words_and_not_the_values_that_it_quotes(
    code: int, kind: str, message: str, text: str
) -> None:
    assert said(code, message) == f"{kind}: {text}"


@pytest.mark.parametrize("code", [400, 422])
def test_a_webhook_is_named_whatever_its_answer_is_called(code: int) -> None:
    message = f'admission webhook "x" denied the request: not "{CANARY}"'
    assert said(code, message) == 'invalid: admission webhook "x" denied the request: not …'


@pytest.mark.parametrize(
    "message",
    [
        'pods "cert-webhook" is forbidden: User "n1" cannot get resource "pods" in API group ""',
        'pods "web" is forbidden: violates PodSecurity "baseline:latest": privileged {a}',
    ],
)
def test_a_refusal_that_comes_from_no_webhook_is_passed_on_whole(message: str) -> None:
    assert said(403, message) == f"forbidden: {message}"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        (f"https://u:{CANARY}@host/path", "https://…@host/path"),
        (f"https://{CANARY}@host:1", "https://…@host:1"),
        (f"https://u:a@b/{CANARY}?c@host", "https://…@host"),
        (f"//u:{CANARY}@host", "//…@host"),
        (f"https://host/path?token={CANARY}", "https://host/path?…"),
        (f"https://host#token={CANARY}", "https://host?…"),
        (f"https://u:p@host?a=b?c={CANARY}#d", "https://…@host?…"),
        (f"https://host?mail=me@{CANARY}?", f"https://…@{CANARY}?…"),
        ("https://host/path", "https://host/path"),
        ("mail me@host or ask?", "mail me@host or ask?"),
    ],
)
@pytest.mark.parametrize(("code", "kind"), [(403, "forbidden"), (503, "server error")])
def test_urls_are_shown_without_user_password_and_query(
    code: int, kind: str, url: str, shown: str
) -> None:
    assert said(code, f'cannot get "{url}" or {url}') == f'{kind}: cannot get "{shown}" or {shown}'


def test_what_a_watch_is_told_is_cut_likewise() -> None:
    status = {"code": 500, "message": f"cannot get https://u:{CANARY}@host?token={CANARY}"}
    assert str(error_of_status(status)) == "server error: cannot get https://…@host?…"


WORDS = st.text(st.sampled_from("ab\"\\ {`'=/:@?#"), max_size=40)


@given(WORDS, WORDS)
@example("='", "a'")
def test_what_is_in_a_closed_quote_never_passes_a_webhook(before: str, value: str) -> None:
    # Quoted as Go does it; what comes before may itself have opened a quote.
    plain = before.replace('"', "").replace("\\", "")
    quoted = json.dumps(value + CANARY + value)
    assert CANARY not in said(403, f"admission webhook denied: {plain} {quoted} for good")


@given(WORDS.filter(lambda text: " " not in text and '"' not in text), WORDS)
def test_no_password_in_a_url_passes(password: str, after: str) -> None:
    url = f"https://me:{CANARY}{password}@host/"
    assert CANARY not in said(500, f"Get {url}{after}")


@pytest.mark.parametrize("part", ["//a", '"\\', "//?", "='", '="', "//@", "{", "webhook "])
def test_a_message_that_is_made_to_be_slow_is_not(part: str) -> None:
    begin = time.process_time()
    said(403, "webhook " + part * 100_000)
    said(403, 'webhook "' + part * 100_000)
    assert time.process_time() - begin < 0.1
