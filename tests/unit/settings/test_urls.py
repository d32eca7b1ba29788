"""What of a URL may be shown."""

from __future__ import annotations

import pytest

from settings.values.urls import masked_url


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://host:8080/pods", "http://host:8080/pods"),
        ("https://me:hunter2@host/pods", "https://<masked>@host/pods"),
        ("https://me@hunter2@host/pods", "https://<masked>@host/pods"),
        ("https://host/pods?token=hunter2#hunter2", "https://host/pods?<masked>"),
        ("https://host/pods#hunter2", "https://host/pods"),
        ("http://[hunter2/pods", "<masked>"),
    ],
)
def test_user_query_and_fragment_are_not_shown(url: str, shown: str) -> None:
    assert masked_url(url) == shown
