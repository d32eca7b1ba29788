"""The holders of all objects: of those of the API server, and of local ones, as far as there are any."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, assert_never

from actors.objects.api_holders import (
    ApiHolders,
    StoppedHoldersEnded,
)
from actors.objects.holders import LocalHolder, ManagedObjects, NoHolders, ObjectHolders
from messages.holders import (
    HolderBegan,
    HolderDone,
    HolderIdle,
    LocalObjectsListed,
    ReferencesAre,
)
from messages.objects import ObjectId, Origin, ReadVerdict

_NO_FILES: Final = "static pods read files of --local-objects-dir, and this node has none"
_NO_API_SERVER: Final = "this node belongs to no API server"


class HoldersByOrigin:
    """Who holds an object, for one life of its manager."""

    def __init__(
        self, api: ApiHolders | None, local: LocalHolder | None, objects: ManagedObjects
    ) -> None:
        self._api = api
        self._local = local
        self._by_origin: dict[Origin, ObjectHolders] = {
            Origin.API: api or NoHolders(_NO_API_SERVER, ReadVerdict.NOT_SYNCED, objects),
            Origin.LOCAL: local or NoHolders(_NO_FILES, ReadVerdict.NOT_FOUND, objects),
        }

    def of(self, origin: Origin) -> ObjectHolders:
        """Return the holders of objects that come from there."""
        return self._by_origin[origin]

    def note_listed(self, listed: LocalObjectsListed) -> None:
        """Take what local objects there are."""
        if self._local is not None:
            self._local.note_listed(listed)

    def note_api_holder(
        self,
        message: HolderDone | HolderBegan | HolderIdle | StoppedHoldersEnded,
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
            case StoppedHoldersEnded():
                holders.forget_stopped()
            case _:
                assert_never(message)
