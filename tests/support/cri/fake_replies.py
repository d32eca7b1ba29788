"""What the runtime in memory answers to each call that is answered at once."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from google.protobuf.empty_pb2 import Empty
from google.protobuf.message import Message

from runtimes.cri.wire import containerd_tasks_pb2 as tasks
from runtimes.cri.wire import cri_pb2 as cri
from runtimes.cri.wire.transport import RpcCode
from tests.support.cri.fake_images import SIZE
from tests.support.cri.fake_machine import CriError, FakeMachine


def reply_of(machine: FakeMachine, method: str, request: Any) -> Message:
    """Return the reply. Raises ``CriError``."""
    handler = _HANDLERS.get(method)
    if handler is None:
        raise CriError(RpcCode.UNIMPLEMENTED, f"unknown method {method}")
    return handler(machine, request)


def _status(machine: FakeMachine, _: cri.StatusRequest) -> cri.StatusResponse:
    conditions = [
        cri.RuntimeCondition(type=each, status=machine.is_ready)
        for each in ("RuntimeReady", "NetworkReady")
    ]
    return cri.StatusResponse(status=cri.RuntimeStatus(conditions=conditions))


def _runtime_config(
    _machine: FakeMachine, _: cri.RuntimeConfigRequest
) -> cri.RuntimeConfigResponse:
    linux = cri.LinuxRuntimeConfiguration(cgroup_driver=cri.CGROUPFS)
    return cri.RuntimeConfigResponse(linux=linux)


def _run_pod_sandbox(
    machine: FakeMachine, request: cri.RunPodSandboxRequest
) -> cri.RunPodSandboxResponse:
    made = machine.run_sandbox(request.config, request.runtime_handler)
    return cri.RunPodSandboxResponse(pod_sandbox_id=made)


def _stop_pod_sandbox(
    machine: FakeMachine, request: cri.StopPodSandboxRequest
) -> cri.StopPodSandboxResponse:
    machine.stop_sandbox(request.pod_sandbox_id)
    return cri.StopPodSandboxResponse()


def _remove_pod_sandbox(
    machine: FakeMachine, request: cri.RemovePodSandboxRequest
) -> cri.RemovePodSandboxResponse:
    machine.remove_sandbox(request.pod_sandbox_id)
    return cri.RemovePodSandboxResponse()


def _pod_sandbox_status(
    machine: FakeMachine, request: cri.PodSandboxStatusRequest
) -> cri.PodSandboxStatusResponse:
    status = machine.sandbox_status(request.pod_sandbox_id)
    return cri.PodSandboxStatusResponse(status=status)


def _list_pod_sandbox(
    machine: FakeMachine, request: cri.ListPodSandboxRequest
) -> cri.ListPodSandboxResponse:
    items = machine.listed_sandboxes(dict(request.filter.label_selector))
    return cri.ListPodSandboxResponse(items=items)


def _create_container(
    machine: FakeMachine, request: cri.CreateContainerRequest
) -> cri.CreateContainerResponse:
    made = machine.create_container(request.pod_sandbox_id, request.config)
    return cri.CreateContainerResponse(container_id=made)


def _start_container(
    machine: FakeMachine, request: cri.StartContainerRequest
) -> cri.StartContainerResponse:
    machine.start_container(request.container_id)
    return cri.StartContainerResponse()


def _remove_container(
    machine: FakeMachine, request: cri.RemoveContainerRequest
) -> cri.RemoveContainerResponse:
    machine.remove_container(request.container_id)
    return cri.RemoveContainerResponse()


def _kill_task(machine: FakeMachine, request: tasks.KillRequest) -> Empty:
    machine.kill_task(request.container_id)
    return Empty()


def _delete_task(machine: FakeMachine, request: tasks.DeleteTaskRequest) -> tasks.DeleteResponse:
    ended = machine.delete_task(request.container_id)
    deleted = tasks.DeleteResponse(id=ended.id, exit_status=ended.exit_code)
    deleted.exited_at.FromNanoseconds(ended.finished_at)
    return deleted


def _container_status(
    machine: FakeMachine, request: cri.ContainerStatusRequest
) -> cri.ContainerStatusResponse:
    status = machine.container_status(request.container_id)
    pid = machine.containers[request.container_id].pid
    told = {"info": json.dumps({"sandboxID": "s", "pid": pid})} if request.verbose and pid else {}
    return cri.ContainerStatusResponse(status=status, info=told)


def _list_containers(
    machine: FakeMachine, request: cri.ListContainersRequest
) -> cri.ListContainersResponse:
    listed = machine.listed_containers(dict(request.filter.label_selector))
    return cri.ListContainersResponse(containers=listed)


def _update_container_resources(
    machine: FakeMachine, request: cri.UpdateContainerResourcesRequest
) -> cri.UpdateContainerResourcesResponse:
    machine.container_status(request.container_id)
    return cri.UpdateContainerResourcesResponse()


def _reopen_container_log(
    machine: FakeMachine, request: cri.ReopenContainerLogRequest
) -> cri.ReopenContainerLogResponse:
    if machine.container_status(request.container_id).state != cri.CONTAINER_RUNNING:
        raise CriError(RpcCode.OTHER, "container is not running")
    return cri.ReopenContainerLogResponse()


def _list_images(machine: FakeMachine, _: cri.ListImagesRequest) -> cri.ListImagesResponse:
    return cri.ListImagesResponse(images=machine.images.listed())


def _image_status(machine: FakeMachine, request: cri.ImageStatusRequest) -> cri.ImageStatusResponse:
    found = machine.images.id_of(request.image.image)
    if found is None:
        return cri.ImageStatusResponse()
    return cri.ImageStatusResponse(image=cri.Image(id=found, size=SIZE))


def _pull_image(machine: FakeMachine, request: cri.PullImageRequest) -> cri.PullImageResponse:
    name = request.image.image
    if ".invalid/" in name:
        raise CriError(RpcCode.OTHER, f"failed to pull {name}: no such host")
    return cri.PullImageResponse(image_ref=machine.images.pull(name))


def _remove_image(machine: FakeMachine, request: cri.RemoveImageRequest) -> cri.RemoveImageResponse:
    machine.images.remove(request.image.image)
    return cri.RemoveImageResponse()


def _image_fs_info(_machine: FakeMachine, _: cri.ImageFsInfoRequest) -> cri.ImageFsInfoResponse:
    return cri.ImageFsInfoResponse()


_HANDLERS: Final[dict[str, Callable[[FakeMachine, Any], Message]]] = {
    "Status": _status,
    "RuntimeConfig": _runtime_config,
    "RunPodSandbox": _run_pod_sandbox,
    "StopPodSandbox": _stop_pod_sandbox,
    "RemovePodSandbox": _remove_pod_sandbox,
    "PodSandboxStatus": _pod_sandbox_status,
    "ListPodSandbox": _list_pod_sandbox,
    "CreateContainer": _create_container,
    "StartContainer": _start_container,
    "RemoveContainer": _remove_container,
    "Kill": _kill_task,
    "Delete": _delete_task,
    "ContainerStatus": _container_status,
    "ListContainers": _list_containers,
    "UpdateContainerResources": _update_container_resources,
    "ReopenContainerLog": _reopen_container_log,
    "ListImages": _list_images,
    "ImageStatus": _image_status,
    "PullImage": _pull_image,
    "RemoveImage": _remove_image,
    "ImageFsInfo": _image_fs_info,
}
