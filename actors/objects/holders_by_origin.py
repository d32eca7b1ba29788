"""The holders of all objects: of those of the API server, and of local ones, as far as there are any."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, assert_never

from actors.objects.api_holders import (
    ApiHolders,
    HoldersTimer,
    ReadsOverdue,
    StoppedHoldersEnded,
)
from actors.objects.holders import LocalHolder, NoHolders, ObjectHolders
from messages.holders import (
    HolderBegan,
    HolderDone,
    HolderIdle,
    LocalObjectsListed,
    ReferencesAre,
)
from messages.objects import ObjectId, Origin, ReadVerdict

_NO_FILES: Final = NoHolders(
    "static pods read files of --local-objects-dir, and this node has none", ReadVerdict.NOT_FOUND
)
_NO_API_SERVER: Final = NoHolders("this node belongs to no API server", ReadVerdict.NOT_SYNCED)


class HoldersByOrigin:
    """Who holds an object, for one life of its manager."""

    def __init__(self, api: ApiHolders | None, local: LocalHolder | None) -> None:
        self._api = api
        self._local = local

    def of(self, origin: Origin) -> ObjectHolders:
        """Return the holders of objects that come from there."""
        if origin is Origin.LOCAL:
            return self._local or _NO_FILES
        return self._api or _NO_API_SERVER

    def note_listed(self, listed: LocalObjectsListed) -> None:
        """Take what local objects there are."""
        if self._local is not None:
            self._local.note_listed(listed)

    def note_api_holder(
        self,
        message: HolderDone | HolderBegan | HolderIdle | HoldersTimer,
        needs: Callable[[ObjectId], ReferencesAre],
    ) -> None:
        """Take what a holder of the API server's objects told; ``needs`` says who needs one."""
        holders = self._api
        if holders is None:
            return
        match message:
            case HolderDone(object=wanted, newest=newest):
                holders.note_done(wanted, newest, needs(wanted))
            case HolderBegan(object=wanted):
                holders.repeat(wanted)
            case HolderIdle(object=wanted, number=number):
                holders.note_idle(wanted, number)
            case StoppedHoldersEnded() | ReadsOverdue():
                holders.note_timer(message)
            case _:
                assert_never(message)
