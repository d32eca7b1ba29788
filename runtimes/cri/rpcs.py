"""The calls that are made to a runtime, each with the time that its reply may take. Pure."""

from __future__ import annotations

import math
import signal
from collections.abc import Mapping
from dataclasses import asdict
from typing import Final, TypeVar

from google.protobuf.empty_pb2 import Empty
from google.protobuf.message import Message

from messages.container_runtime import Streams
from messages.units import Seconds
from runtimes.cri.wire import containerd_events_pb2 as events
from runtimes.cri.wire import containerd_tasks_pb2 as tasks
from runtimes.cri.wire import cri_pb2 as cri
from runtimes.cri.wire.transport import Rpc

ReplyT = TypeVar("ReplyT", bound=Message)

READ_WITHIN: Final = Seconds(10.0)
"""A list of 200 containers takes 2 ms. A runtime that needs 10 s hangs."""
CHANGE_WITHIN: Final = Seconds(240.0)
"""Long: a start that is cut off ends in a container that can never be started again."""
STOP_MARGIN: Final = Seconds(120.0)
"""Beyond the grace."""
EXEC_MARGIN: Final = Seconds(2.0)
"""Beyond the command's own time: the runtime kills at that time and says so a little later."""

UID_LABEL: Final = "io.kubernetes.pod.uid"

IMAGES_WITHIN: Final = Seconds(120.0)
"""A question about images waits behind pulls on a slow disk. A kubelet's ``runtimeRequestTimeout``."""

IMAGE_SERVICE: Final = "/runtime.v1.ImageService/"
_RUNTIME = "/runtime.v1.RuntimeService/"
RUN_SANDBOX: Final = f"{_RUNTIME}RunPodSandbox"
_TASKS = "/containerd.services.tasks.v1.Tasks/"
_NAMESPACE: Final = "k8s.io"
"""Where containerd has what its CRI makes."""


def _rpc(
    name: str, request: Message, reply: type[ReplyT], deadline: Seconds = READ_WITHIN
) -> Rpc[ReplyT]:
    return Rpc(_RUNTIME + name, request, reply, deadline)


# Of the runtime itself.


def version() -> Rpc[cri.VersionResponse]:
    """Ask which runtime this is."""
    request = cri.VersionRequest(version="0.1.0")
    return _rpc("Version", request, cri.VersionResponse, Seconds(2.0))


def status(*, verbose: bool = False) -> Rpc[cri.StatusResponse]:
    """Ask how the runtime and its network are, and what it can do; how it is configured if ``verbose``."""
    return _rpc("Status", cri.StatusRequest(verbose=verbose), cri.StatusResponse)


def runtime_config() -> Rpc[cri.RuntimeConfigResponse]:
    """Ask for the driver of cgroups."""
    return _rpc("RuntimeConfig", cri.RuntimeConfigRequest(), cri.RuntimeConfigResponse)


# Streams.


def container_events() -> Rpc[cri.ContainerEventResponse]:
    """Follow what happens to containers."""
    return _rpc("GetContainerEvents", cri.GetEventsRequest(), cri.ContainerEventResponse)


def containerd_events() -> Rpc[events.Envelope]:
    """Follow what happens to containers, where containerd's CRI has no events."""
    topics = ("/tasks/exit", "/tasks/oom", "/tasks/start", "/tasks/delete", "/containers/delete")
    filters = [f'namespace=={_NAMESPACE},topic=="{topic}"' for topic in topics]
    return Rpc(
        "/containerd.services.events.v1.Events/Subscribe",
        events.SubscribeRequest(filters=filters),
        events.Envelope,
        READ_WITHIN,
    )


# Sandboxes.


def run_sandbox(config: cri.PodSandboxConfig, handler: str) -> Rpc[cri.RunPodSandboxResponse]:
    """Make a sandbox and start it."""
    request = cri.RunPodSandboxRequest(config=config, runtime_handler=handler)
    return _rpc("RunPodSandbox", request, cri.RunPodSandboxResponse, CHANGE_WITHIN)


def stop_sandbox(sandbox_id: str) -> Rpc[cri.StopPodSandboxResponse]:
    """Stop a sandbox: what still runs in it is killed."""
    request = cri.StopPodSandboxRequest(pod_sandbox_id=sandbox_id)
    return _rpc("StopPodSandbox", request, cri.StopPodSandboxResponse, CHANGE_WITHIN)


def remove_sandbox(sandbox_id: str) -> Rpc[cri.RemovePodSandboxResponse]:
    """Remove a sandbox with its containers."""
    request = cri.RemovePodSandboxRequest(pod_sandbox_id=sandbox_id)
    return _rpc("RemovePodSandbox", request, cri.RemovePodSandboxResponse, CHANGE_WITHIN)


def sandbox_status(sandbox_id: str) -> Rpc[cri.PodSandboxStatusResponse]:
    """Ask for everything about one sandbox."""
    request = cri.PodSandboxStatusRequest(pod_sandbox_id=sandbox_id)
    return _rpc("PodSandboxStatus", request, cri.PodSandboxStatusResponse)


def list_sandboxes(uid: str | None = None) -> Rpc[cri.ListPodSandboxResponse]:
    """List the sandboxes of one pod, or all."""
    query = cri.PodSandboxFilter(label_selector=_of_pod(uid))
    request = cri.ListPodSandboxRequest(filter=query)
    return _rpc("ListPodSandbox", request, cri.ListPodSandboxResponse)


# Containers.


def create_container(
    sandbox_id: str, config: cri.ContainerConfig, sandbox: cri.PodSandboxConfig
) -> Rpc[cri.CreateContainerResponse]:
    """Create a container in a sandbox."""
    request = cri.CreateContainerRequest(
        pod_sandbox_id=sandbox_id, config=config, sandbox_config=sandbox
    )
    return _rpc("CreateContainer", request, cri.CreateContainerResponse, CHANGE_WITHIN)


def start_container(container_id: str) -> Rpc[cri.StartContainerResponse]:
    """Start a container that was created."""
    request = cri.StartContainerRequest(container_id=container_id)
    return _rpc("StartContainer", request, cri.StartContainerResponse, CHANGE_WITHIN)


def stop_container(container_id: str, grace: Seconds) -> Rpc[cri.StopContainerResponse]:
    """Stop a container: SIGTERM, and SIGKILL after ``grace``, rounded up to whole seconds."""
    timeout = min(math.ceil(grace), (1 << 31) - 1)
    request = cri.StopContainerRequest(container_id=container_id, timeout=timeout)
    return _rpc("StopContainer", request, cri.StopContainerResponse, Seconds(timeout + STOP_MARGIN))


def remove_container(container_id: str) -> Rpc[cri.RemoveContainerResponse]:
    """Remove a container; a running one is killed."""
    request = cri.RemoveContainerRequest(container_id=container_id)
    return _rpc("RemoveContainer", request, cri.RemoveContainerResponse, CHANGE_WITHIN)


def kill_task(container_id: str) -> Rpc[Empty]:
    """Kill all that runs in a container, even if it has ended for containerd's CRI."""
    request = tasks.KillRequest(container_id=container_id, signal=signal.SIGKILL, all=True)
    return Rpc(f"{_TASKS}Kill", request, Empty, READ_WITHIN, _NAMESPACE)


def delete_task(container_id: str) -> Rpc[tasks.DeleteResponse]:
    """Have containerd forget what ran in a container and has ended."""
    request = tasks.DeleteTaskRequest(container_id=container_id)
    return Rpc(f"{_TASKS}Delete", request, tasks.DeleteResponse, READ_WITHIN, _NAMESPACE)


def container_status(
    container_id: str, *, verbose: bool = False
) -> Rpc[cri.ContainerStatusResponse]:
    """Ask for everything about one container; for what the runtime alone knows of it if ``verbose``.

    What that is may have values of Secrets.
    """
    request = cri.ContainerStatusRequest(container_id=container_id, verbose=verbose)
    return _rpc("ContainerStatus", request, cri.ContainerStatusResponse)


def list_containers(uid: str | None = None) -> Rpc[cri.ListContainersResponse]:
    """List the containers of one pod, or all."""
    query = cri.ContainerFilter(label_selector=_of_pod(uid))
    return _rpc(
        "ListContainers", cri.ListContainersRequest(filter=query), cri.ListContainersResponse
    )


def update_resources(
    container_id: str, resources: cri.LinuxContainerResources
) -> Rpc[cri.UpdateContainerResourcesResponse]:
    """Give a container other limits."""
    request = cri.UpdateContainerResourcesRequest(container_id=container_id, linux=resources)
    return _rpc(
        "UpdateContainerResources", request, cri.UpdateContainerResourcesResponse, CHANGE_WITHIN
    )


def reopen_log(container_id: str) -> Rpc[cri.ReopenContainerLogResponse]:
    """Have the runtime open a container's log anew."""
    request = cri.ReopenContainerLogRequest(container_id=container_id)
    return _rpc("ReopenContainerLog", request, cri.ReopenContainerLogResponse)


def exec_sync(
    container_id: str, command: tuple[str, ...], timeout: Seconds
) -> Rpc[cri.ExecSyncResponse]:
    """Run a command in a container. The runtime kills it after ``timeout``, rounded up to whole seconds."""
    seconds = max(math.ceil(timeout), 1)
    request = cri.ExecSyncRequest(container_id=container_id, cmd=command, timeout=seconds)
    return _rpc("ExecSync", request, cri.ExecSyncResponse, Seconds(seconds + EXEC_MARGIN))


def exec_stream(
    container_id: str, command: tuple[str, ...], streams: Streams
) -> Rpc[cri.ExecResponse]:
    """Ask where a command in a container can be talked to."""
    request = cri.ExecRequest(container_id=container_id, cmd=command, **asdict(streams))
    return _rpc("Exec", request, cri.ExecResponse)


def attach_stream(container_id: str, streams: Streams) -> Rpc[cri.AttachResponse]:
    """Ask where the main process of a container can be talked to."""
    request = cri.AttachRequest(container_id=container_id, **asdict(streams))
    return _rpc("Attach", request, cri.AttachResponse)


def port_forward_stream(sandbox_id: str, ports: tuple[int, ...]) -> Rpc[cri.PortForwardResponse]:
    """Ask where ports of a sandbox can be reached."""
    request = cri.PortForwardRequest(pod_sandbox_id=sandbox_id, port=ports)
    return _rpc("PortForward", request, cri.PortForwardResponse)


# Images.


def image_status(image: str) -> Rpc[cri.ImageStatusResponse]:
    """Ask for one image, by name or id."""
    request = cri.ImageStatusRequest(image=cri.ImageSpec(image=image))
    return _image_rpc("ImageStatus", request, cri.ImageStatusResponse)


def pull_image(
    image: str, auth: cri.AuthConfig | None, deadline: Seconds
) -> Rpc[cri.PullImageResponse]:
    """Pull an image, as anybody may if there is no ``auth``."""
    spec = cri.ImageSpec(image=image, user_specified_image=image)
    request = cri.PullImageRequest(image=spec, auth=auth)
    return _image_rpc("PullImage", request, cri.PullImageResponse, deadline)


def list_images() -> Rpc[cri.ListImagesResponse]:
    """Ask for all images."""
    return _image_rpc("ListImages", cri.ListImagesRequest(), cri.ListImagesResponse)


def image_fs_info() -> Rpc[cri.ImageFsInfoResponse]:
    """Ask where images are, and what they take."""
    return _image_rpc("ImageFsInfo", cri.ImageFsInfoRequest(), cri.ImageFsInfoResponse)


def remove_image(image_id: str) -> Rpc[cri.RemoveImageResponse]:
    """Remove an image with all its names, which takes long on a slow disk."""
    request = cri.RemoveImageRequest(image=cri.ImageSpec(image=image_id))
    return _image_rpc("RemoveImage", request, cri.RemoveImageResponse, CHANGE_WITHIN)


def _image_rpc(
    name: str, request: Message, reply: type[ReplyT], deadline: Seconds = IMAGES_WITHIN
) -> Rpc[ReplyT]:
    return Rpc(IMAGE_SERVICE + name, request, reply, deadline)


def _of_pod(uid: str | None) -> Mapping[str, str]:
    return {} if uid is None else {UID_LABEL: uid}
