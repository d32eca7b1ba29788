"""What people are told of volumes: events of pods in a kubelet's words, and lines of the log."""

from __future__ import annotations

from typing import Final

import structlog

from actors.volumes.keeper_parts import VolumeKeeperPorts
from actors.volumes.kept_volumes import KeptVolume
from messages.events import EventType, ObjectReference, PostEvent
from messages.pods import Pod

FAILED_MOUNT: Final = "FailedMount"
NO_TOKENS: Final = "nobody issues tokens for this pod"

_log = structlog.get_logger("volumes")


def set_up_failed(name: str, why: str) -> str:
    """Return the sentence by which a kubelet says that a volume is not there."""
    return f'MountVolume.SetUp failed for volume "{name}" : {why}'


class VolumeEvents:
    """Tells people, each thing once."""

    def __init__(self, ports: VolumeKeeperPorts, notices: set[str]) -> None:
        self._ports = ports
        self._notices = notices

    def say(
        self,
        pod: Pod,
        name: str,
        volume: KeptVolume,
        *,
        quietly: bool = False,
        has_line: bool = False,
    ) -> None:
        """Say the trouble of a volume, or that it is over.

        With ``has_line``, the log has a line of it by the manager of objects, one for all pods. ``quietly``:
        the pod has an event of it, too.
        """
        trouble = "" if volume.trouble is None else volume.trouble.message
        if trouble == volume.said:
            return
        volume.said = trouble
        about = {"pod": pod.display_name, "volume": name}
        has_line = has_line or quietly
        if not trouble:
            emit = _log.debug if volume.has_line else _log.info
            emit("a volume is as it should be again", **about)
        else:
            emit = _log.debug if has_line else _log.warning
            emit("a volume is not as it should be", **about, reason=trouble)
            if not quietly:
                self._post(pod, set_up_failed(name, trouble))
        volume.has_line = has_line

    def note(self, pod: Pod, name: str, notes: tuple[str, ...]) -> None:
        """Log what was found at a volume. What is the same on the whole node is said once."""
        for each in notes:
            if each not in self._notices:
                self._notices.add(each)
                _log.warning(
                    "a volume is not as usual", pod=pod.display_name, volume=name, note=each
                )

    def _post(self, pod: Pod, message: str) -> None:
        if self._ports.events is not None:
            self._ports.events.tell(
                PostEvent(
                    regarding=ObjectReference.of_pod(pod),
                    type=EventType.WARNING,
                    reason=FAILED_MOUNT,
                    message=message,
                )
            )
