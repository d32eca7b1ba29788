"""What a pod gets that reads an object, by what was last known of it."""

from __future__ import annotations

from typing import Final

import pytest

from messages.objects import ObjectAvailability, ObjectValue
from messages.units import Instant, Seconds, Timestamp
from stores.objects.knowledge import LastKnown

EARLIER: Final = Instant(Seconds(7.0), Timestamp(1_000.0))
VALUE: Final = ObjectValue(uid="u1", resource_version="7", data={})


@pytest.mark.parametrize(
    ("known", "availability"),
    [
        (LastKnown(), ObjectAvailability.UNKNOWN),
        (LastKnown(is_known=True), ObjectAvailability.MISSING),
        (LastKnown(is_known=True, current_until=EARLIER), ObjectAvailability.UNKNOWN),
        (LastKnown(is_known=True, value=VALUE), ObjectAvailability.AVAILABLE),
        (
            LastKnown(is_known=True, value=VALUE, current_until=EARLIER),
            ObjectAvailability.AVAILABLE,
        ),
        (LastKnown(flaw="no JSON"), ObjectAvailability.UNUSABLE),
        (LastKnown(flaw="no JSON", current_until=EARLIER), ObjectAvailability.UNUSABLE),
    ],
)
def test_an_object_that_was_absent_when_last_known_is_unknown_in_an_outage(
    known: LastKnown, availability: ObjectAvailability
) -> None:
    assert known.availability is availability
