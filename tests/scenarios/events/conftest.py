from collections.abc import Iterator

import pytest

from kernel import Runtime
from tests.support.events.feed_stage import FeedStage, feed_stage


@pytest.fixture
def feed(runtime: Runtime) -> Iterator[FeedStage]:
    """Return a feed that nobody reads."""
    with feed_stage(runtime) as feed:
        yield feed
