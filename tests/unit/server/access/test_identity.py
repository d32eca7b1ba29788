"""Who sent a request, by certificate and by token."""

from __future__ import annotations

import base64

import pytest

from messages.access import AccessVerb, Identity, Review
from server.access.identity import bearer_token, is_of_page, of_certificate, other_protocols
from server.access.sentences import RETRY_AFTER, forbidden, nobody_to_ask, unauthorized
from server.access.standalone import is_allowed

EVERYBODY = "system:authenticated"
PREFIX = "base64url.bearer.authorization.k8s.io."


def subject(*pairs: tuple[str, str]) -> tuple[tuple[tuple[str, str], ...], ...]:
    """Return a subject as Python's ``ssl`` has it: each name by itself."""
    return tuple((pair,) for pair in pairs)


def hidden(token: str) -> str:
    return PREFIX + base64.urlsafe_b64encode(token.encode()).decode().rstrip("=")


# --- certificates --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pairs", "groups"),
    [
        ((), (EVERYBODY,)),
        ((("organizationName", "system:masters"),), ("system:masters", EVERYBODY)),
        (
            (("organizationName", "ops"), ("countryName", "CH"), ("organizationName", "audit")),
            ("ops", "audit", EVERYBODY),
        ),
        ((("organizationalUnitName", "system:masters"),), (EVERYBODY,)),
        ((("organizationName", EVERYBODY),), (EVERYBODY,)),
    ],
)
def test_each_organization_of_a_certificate_is_a_group(
    pairs: tuple[tuple[str, str], ...], groups: tuple[str, ...]
) -> None:
    found = of_certificate(subject(*pairs, ("commonName", "anna")))
    assert found == Identity(user="anna", groups=groups)


def test_a_name_of_a_certificate_may_have_several_parts() -> None:
    names = (
        (("organizationName", "ops"), ("organizationName", "audit")),
        (("commonName", "a"), ("commonName", "b")),
    )
    assert of_certificate(names) == Identity(user="b", groups=("ops", "audit", EVERYBODY))


@pytest.mark.parametrize("pairs", [(), (("organizationName", "ops"),), (("commonName", ""),)])
def test_a_certificate_without_a_common_name_is_nobodys(pairs: tuple[tuple[str, str], ...]) -> None:
    assert of_certificate(subject(*pairs)) is None


# --- tokens --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "token"),
    [
        ([], None),
        ([("Authorization", "Bearer abc")], "abc"),
        ([("authorization", "bearer  a.b-c_d~e+f/g= ")], "a.b-c_d~e+f/g="),
        ([("Authorization", "Basic abc")], None),
        ([("Authorization", "Bearer")], None),
        ([("Authorization", "Bearer ")], None),
        ([("Authorization", "Bearer a b")], None),
        ([("Authorization", "Bearer \udcffa")], None),
        ([("Authorization", "Bearer a"), ("Authorization", "Bearer b")], None),
        ([("Sec-WebSocket-Protocol", hidden("abc"))], "abc"),
        ([("sec-websocket-protocol", f"v4.channel.k8s.io, {hidden('a?~')}")], "a?~"),
        ([("Sec-WebSocket-Protocol", "v4"), ("Sec-WebSocket-Protocol", hidden("a"))], "a"),
        ([("Sec-WebSocket-Protocol", f"{hidden('a')},{hidden('b')}")], None),
        ([("Sec-WebSocket-Protocol", PREFIX)], None),
        ([("Sec-WebSocket-Protocol", f"{PREFIX}!!!")], None),
        ([("Sec-WebSocket-Protocol", hidden("\x00"))], None),
        ([("Authorization", "Bearer a"), ("Sec-WebSocket-Protocol", hidden("b"))], "a"),
        ([("Authorization", "Basic a"), ("Sec-WebSocket-Protocol", hidden("b"))], None),
    ],
)
def test_a_token_is_in_either_header_and_there_is_one(
    headers: list[tuple[str, str]], token: str | None
) -> None:
    assert bearer_token(headers) == token


def test_a_token_among_the_protocols_goes_no_further() -> None:
    headers = [("Sec-WebSocket-Protocol", f"v5, {hidden('abc')} ,v4"), ("Host", "v3")]
    assert other_protocols(headers) == ("v5", "v4")


# --- pages in browsers ----------------------------------------------------------------------------------

PAGE = ("Origin", "https://elsewhere.example")


@pytest.mark.parametrize(
    ("headers", "has_certificate", "is_page"),
    [
        ((), True, False),
        ((PAGE,), False, True),
        ((PAGE,), True, True),
        ((PAGE, ("Authorization", "Bearer secret")), False, False),
        # A page chooses the protocols of a WebSocket: the certificate is still another's.
        ((PAGE, ("Sec-WebSocket-Protocol", hidden("anything"))), True, True),
        ((PAGE, ("Sec-WebSocket-Protocol", hidden("secret"))), False, False),
        # An API server passes on what a browser sent to it.
        ((PAGE, ("X-Forwarded-For", "192.0.2.1")), True, False),
    ],
)
def test_a_page_has_no_right_to_the_certificate_of_who_visits_it(
    headers: tuple[tuple[str, str], ...], *, has_certificate: bool, is_page: bool
) -> None:
    assert is_of_page(headers, has_certificate=has_certificate) is is_page


# --- without an API server -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("groups", "always_allow", "allowed"),
    [
        ((EVERYBODY,), False, False),
        (("system:masters", EVERYBODY), False, True),
        ((EVERYBODY,), True, True),
    ],
)
def test_without_an_api_server_administrators_may_everything_and_others_nothing(
    groups: tuple[str, ...], *, always_allow: bool, allowed: bool
) -> None:
    who = Identity(user="anna", groups=groups)
    assert is_allowed(who, always_allow=always_allow) is allowed


# --- what is said --------------------------------------------------------------------------------------


def test_a_refusal_names_the_missing_right_as_a_kubelet_does() -> None:
    said = forbidden(Identity(user="anna"), AccessVerb.GET, ("pods", "proxy"))
    assert said == "Forbidden (user=anna, verb=get, resource=nodes, subresource(s)=[pods proxy])\n"


def test_a_refusal_is_one_line_whatever_the_user_is_called() -> None:
    said = forbidden(Identity(user="a\r\nb\x1b"), AccessVerb.CREATE, ("proxy",))
    assert said.count("\n") == 1
    assert said.startswith("Forbidden (user=a\ufffd\ufffdb\ufffd, verb=create,")


def test_who_is_not_known_learns_nothing_else() -> None:
    assert unauthorized() == "Unauthorized"


@pytest.mark.parametrize("review", list(Review))
def test_it_is_said_which_review_is_missing(review: Review) -> None:
    assert review.value in nobody_to_ask(review)
    assert RETRY_AFTER == 5
