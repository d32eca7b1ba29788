"""Asking a real server for manifests: what comes of one request."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

import pytest

from messages.units import Seconds
from sources.http.asking import Body, FetchError, Unmodified, Validators
from sources.http.bodies import MOST_BYTES
from sources.http.fetch import HttpFetcher
from tests.support.patience import PATIENCE

SECRET = "hunter2"
Headers: TypeAlias = Mapping[str, tuple[str, ...]]
NO_HEADERS: Headers = {}
TOKEN: Headers = {"Authorization": (f"Bearer {SECRET}",), "X-Token": (SECRET,)}
OK = "HTTP/1.1 200 OK\r\n"


def fetched(
    url: str,
    headers: Headers = NO_HEADERS,
    known: Validators | None = None,
    *,
    ca_file: Path | None = None,
    deadline: float = PATIENCE,
    most: int = MOST_BYTES,
) -> Body | Unmodified:
    return HttpFetcher(url, headers, ca_file, Seconds(deadline), most).fetch(known)


def body(url: str, headers: Headers = NO_HEADERS, known: Validators | None = None) -> Body:
    answer = fetched(url, headers, known)
    assert isinstance(answer, Body)
    return answer


def failure(
    url: str,
    headers: Headers = NO_HEADERS,
    *,
    ca_file: Path | None = None,
    deadline: float = PATIENCE,
    most: int = MOST_BYTES,
) -> FetchError:
    with pytest.raises(FetchError) as caught:
        fetched(url, headers, ca_file=ca_file, deadline=deadline, most=most)
    assert SECRET not in caught.value.sentence
    assert "://" not in caught.value.sentence
    return caught.value
