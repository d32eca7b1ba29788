"""How long a refusal of the API server does not count yet."""

from __future__ import annotations

from typing import Final

from messages.units import Seconds

FORBIDDEN_GRACE: Final = Seconds(5.0)
"""How long a 403 does not count after a new reference. The Node authorizer, which decides about it, learns of
pods by a watch of its own, a little later than this node."""
