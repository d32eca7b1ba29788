"""Questions that every source answers."""

from __future__ import annotations

from typing import Any

from kernel import Key
from messages.sources import DescribeSource, SourceDescribed
from tests.support.kernel.stage import Stage
from tests.support.questions import describe_source


def described(play: Stage, key: Key[Any]) -> SourceDescribed:
    """Return how the source at ``key`` says it is."""
    return play.ask(Key[DescribeSource](key.path), describe_source)
