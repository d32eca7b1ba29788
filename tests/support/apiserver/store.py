"""The API server of scenario tests: its objects in memory, and an administrator's hand on them."""

from __future__ import annotations

from tests.support.apiserver.core import ApiCore
from tests.support.apiserver.hand import ApiHand


class ApiStore(ApiCore, ApiHand):
    """An ``ApiCore`` with ``add``, ``get``, ``change``, ``remove`` and the like for stories."""
