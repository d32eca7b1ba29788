"""Questions that every source answers."""

from __future__ import annotations

from typing import Any

from kernel import Key, Port
from messages.sources import DescribeSource, SourceDescribed
from tests.support.kernel.stage import Stage


def described(play: Stage, key: Key[Any]) -> SourceDescribed:
    """Return how the source at ``key`` says it is."""
    return play.ask(Key[DescribeSource](key.path), _describe)


def _describe(reply_to: Port[SourceDescribed]) -> DescribeSource:
    return DescribeSource(reply_to=reply_to)
