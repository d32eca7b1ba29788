"""What is asked of a runtime before anything else. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kernel import Operation
from messages.container_runtime import RuntimeFailure, RuntimeFailureKind
from runtimes.cri import rpcs
from runtimes.cri.configs.node import HandlerFeatures, RuntimeFeatures, image_volume_features
from runtimes.cri.operations.flow import RpcError, call
from runtimes.cri.operations.outcomes import one_line
from runtimes.cri.wire import cri_pb2 as cri
from runtimes.cri.wire.transport import RpcCode

VERSION: Final = "v1"
LONGEST_NAME: Final = 64
"""Characters of a runtime's name or version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Greeting:
    """What a runtime says of itself."""

    name: str
    version: str
    trouble: str
    """What is wrong with the runtime, in a kubelet's words; empty if nothing is."""
    network_trouble: str
    """The same of the network of pods."""
    features: RuntimeFeatures


def greet() -> Operation[Greeting | RuntimeFailure]:
    """Ask a runtime who it is. One that cannot be used is a failure. Raises ``RpcError``."""
    try:
        reply = yield from call(rpcs.version())
    except RpcError as error:
        if error.failure.code is RpcCode.UNIMPLEMENTED:
            return _unusable(
                f"what listens there does not speak version {VERSION} of the container runtime interface "
                f"(containerd does since 1.6, CRI-O since 1.20): {one_line(error.failure.message)}"
            )
        if error.failure.code is RpcCode.DEADLINE_EXCEEDED:
            message = f"it takes calls and does not answer within {rpcs.version().deadline:g} s"
            return RuntimeFailure(kind=RuntimeFailureKind.UNCERTAIN, message=message)
        raise
    if reply.runtime_api_version != VERSION:
        return _unusable(
            f"{_name(reply.runtime_name)} {_name(reply.runtime_version)} speaks version "
            f"{reply.runtime_api_version[:32]!r} of the container runtime interface, not {VERSION}"
        )
    status = yield from call(rpcs.status())
    return Greeting(
        name=_name(reply.runtime_name),
        version=_name(reply.runtime_version),
        trouble=_trouble(status, "RuntimeReady", "runtime"),
        network_trouble=_trouble(status, "NetworkReady", "runtime network"),
        features=_features(reply, status),
    )


def _name(said: str) -> str:
    """Return a name for people, and for the beginning of ids."""
    return one_line(said)[:LONGEST_NAME] or "unknown"


def _features(reply: cri.VersionResponse, status: cri.StatusResponse) -> RuntimeFeatures:
    of_images = image_volume_features(reply.runtime_name, reply.runtime_version)
    return RuntimeFeatures(
        image_volumes=of_images.mounts_images,
        image_sub_paths=of_images.mounts_parts,
        supplemental_groups_policy=status.features.supplemental_groups_policy,
        handlers={
            each.name: HandlerFeatures(
                each.features.recursive_read_only_mounts, each.features.user_namespaces
            )
            for each in status.runtime_handlers
        },
    )


def _trouble(status: cri.StatusResponse, kind: str, what: str) -> str:
    condition = next((each for each in status.status.conditions if each.type == kind), None)
    if condition is None:
        return f"container {what} did not report {kind}"
    if condition.status:
        return ""
    return one_line(
        f"container {what} not ready: {kind}=false reason:{condition.reason} "
        f"message:{condition.message}"
    )


def _unusable(why: str) -> RuntimeFailure:
    return RuntimeFailure(kind=RuntimeFailureKind.UNSUPPORTED, message=why)
