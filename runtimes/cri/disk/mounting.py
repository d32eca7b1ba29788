"""What has to be mounted, or to be mountable, before a container is created."""

from __future__ import annotations

import errno
import os

from actors.volumes.mounts.propagation import propagation_trouble
from actors.volumes.mounts.sub_paths import bind_sub_path
from actors.volumes.mounts.system_calls import KernelMounts, MountCalls
from runtimes.cri.disk.tasks import BindSubPath, CheckPropagation


def bind_part(task: BindSubPath, calls: MountCalls | None = None) -> str:
    """Bind a part of a volume, and return why that is not possible; empty once it is done. May repeat."""
    try:
        bind_sub_path(calls or KernelMounts(), task.part)
    except OSError as error:
        # The path of the error is the expanded one, which may be confidential.
        return (
            f'failed to prepare subPath for volumeMount "{task.volume}" of container '
            f'"{task.container}": `{task.shown}`: {_why(error)}'
        )
    return ""


def check_propagation(task: CheckPropagation, calls: MountCalls | None = None) -> str:
    """Return why mounts cannot propagate as it is demanded; empty if they can."""
    table = (calls or KernelMounts()).table()
    trouble = propagation_trouble(table, os.path.realpath(task.path), task.propagation)
    return trouble and f'volume "{task.volume}": {trouble}'


def _why(error: OSError) -> str:
    if error.errno == errno.EPERM:
        return "nothing can be mounted on this node, and a part of a volume has to be"
    return error.strerror or type(error).__name__
