"""What is sent to ask for a page, and where answers lead."""

from __future__ import annotations

import pytest

from actors.probes.http_messages import HttpPage, UnusableLocationError, led_to, page_of, request_of
from manifests.handlers import HttpGetAction


def page(path: str = "/", host: str = "", *headers: tuple[str, str]) -> HttpPage:
    probe = HttpGetAction(is_https=False, host=host, port=8080, path=path, headers=headers)
    return page_of(probe, "10.0.0.7", "kube-probe/1.34")


def lines(of: HttpPage) -> list[str]:
    return request_of(of).decode().split("\r\n")


def test_a_request_is_as_a_kubelets() -> None:
    assert lines(page("/healthz")) == [
        "GET /healthz HTTP/1.1",
        "Host: 10.0.0.7:8080",
        "User-Agent: kube-probe/1.34",
        "Accept: */*",
        "Connection: close",
        "",
        "",
    ]


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("", "/"),
        ("healthz", "/healthz"),
        ("/a b?c=d e#f", "/a%20b?c=d%20e"),
        ("/ä\r\nX: y", "/%C3%A4%0D%0AX:%20y"),
        ("/%20", "/%20"),
    ],
)
def test_a_path_is_sent_so_that_it_can_be_read(path: str, target: str) -> None:
    assert lines(page(path))[0] == f"GET {target} HTTP/1.1"


def test_headers_of_the_probe_win_and_empty_ones_mean_none() -> None:
    sent = lines(
        page("/", "", ("host", "web.example"), ("Accept", ""), ("user-agent", ""), ("X", ""))
    )
    assert sent[1:-2] == ["host: web.example", "X: ", "Connection: close"]


def test_a_connection_is_for_one_request_whatever_the_probe_says() -> None:
    assert "Connection: keep-alive" not in lines(page("/", "", ("Connection", "keep-alive")))


def test_a_host_of_its_own_is_asked_instead_of_the_pod() -> None:
    assert page("/", "web.example").url == "http://web.example:8080/"
    assert page("/", "[fd00::1]").url == "http://[fd00::1]:8080/"


@pytest.mark.parametrize(
    ("location", "url"),
    [
        ("next?x=1", "http://10.0.0.7:8080/a/next?x=1"),
        ("/next", "http://10.0.0.7:8080/next"),
        ("https://10.0.0.7/next", "https://10.0.0.7:443/next"),
        ("//10.0.0.7:81", "http://10.0.0.7:81/"),
        ("?x", "http://10.0.0.7:8080/a/b?x"),
        ("http://example.org/", None),
        ("https://10.0.0.8:8080/", None),
    ],
)
def test_an_answer_leads_on_only_on_the_same_host(location: str, url: str | None) -> None:
    following = led_to(page("/a/b"), location)
    assert (following and following.url) == url


def test_a_host_header_is_kept_where_only_the_path_changes() -> None:
    before = page("/", "", ("Host", "web.example"), ("X", "y"))
    relative, absolute = led_to(before, "/next"), led_to(before, "http://10.0.0.7:81/")
    assert relative is not None
    assert absolute is not None
    assert relative.headers == (("Host", "web.example"), ("X", "y"))
    assert absolute.headers == (("X", "y"),)


@pytest.mark.parametrize("location", ["ftp://10.0.0.7/", "http://10.0.0.7:99999/", "http://[x/"])
def test_what_is_no_page_is_refused(location: str) -> None:
    with pytest.raises(UnusableLocationError):
        led_to(page(), location)
