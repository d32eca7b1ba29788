"""The API server of scenario tests: objects in memory that an administrator can change."""

from __future__ import annotations

from tests.support.apiserver.admin import AdminApi
from tests.support.apiserver.core import ApiCore


class ApiStore(ApiCore, AdminApi):
    """An ``ApiCore`` with ``add``, ``get``, ``change``, ``remove`` and the like for stories."""
