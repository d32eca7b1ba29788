"""Which operation carries out which request, and which pod it changes. Pure."""

from __future__ import annotations

from typing import Any, TypeAlias, assert_never

from kernel import Operation
from messages.container_runtime import (
    ContainerQuestion,
    CreateContainer,
    ExecInContainer,
    FindImage,
    LookAtPod,
    OpenAttach,
    OpenExec,
    OpenPortForward,
    PullImage,
    ReadContainerLog,
    RemoveContainer,
    RemoveSandbox,
    ReopenLog,
    ResizeContainer,
    RunSandbox,
    RuntimeRequest,
    SignalContainer,
    StartContainer,
    StopContainer,
    StopSandbox,
)
from messages.pods import PodUid
from messages.units import Seconds
from runtimes.cri.inventory import CriInventory, bare_id
from runtimes.cri.operations.containers import create, remove, reopen_log, resize, start, stop
from runtimes.cri.operations.flow import OperationContext
from runtimes.cri.operations.looking import look
from runtimes.cri.operations.questions import exec_in, open_stream, read_log, signal_to
from runtimes.cri.operations.sandboxes import remove_sandbox, run_sandbox, stop_sandbox

ContainerRequest: TypeAlias = (
    CreateContainer
    | StartContainer
    | StopContainer
    | RemoveContainer
    | ResizeContainer
    | ReopenLog
    | SignalContainer
)


def operation_of(request: RuntimeRequest, context: OperationContext) -> Operation[Any]:
    """Return what carries out a request. Images are somebody else's."""
    match request:
        case RunSandbox():
            return run_sandbox(request, context)
        case StopSandbox(id=sandbox_id):
            return stop_sandbox(sandbox_id, context)
        case RemoveSandbox(id=sandbox_id):
            return remove_sandbox(sandbox_id, context)
        case LookAtPod(uid=uid):
            return look(uid, context)
        case FindImage() | PullImage():
            raise ValueError("images are not found and pulled here")
        case _:
            return _of_container(request, context)


def _of_container(request: ContainerRequest, context: OperationContext) -> Operation[Any]:
    match request:
        case CreateContainer():
            return create(request, context)
        case StartContainer(id=container_id):
            return start(container_id, context)
        case StopContainer():
            return stop(request, context)
        case RemoveContainer(id=container_id):
            return remove(container_id, context)
        case ResizeContainer():
            return resize(request, context)
        case ReopenLog(id=container_id):
            return reopen_log(container_id)
        case SignalContainer():
            return signal_to(request, context)
        case _:
            assert_never(request)


def answer_to(
    question: ContainerQuestion, within: Seconds, context: OperationContext
) -> Operation[Any]:
    """Return what answers a question within the time that it may take."""
    match question:
        case ExecInContainer():
            return exec_in(question, within)
        case ReadContainerLog():
            return read_log(question, context)
        case OpenExec() | OpenAttach() | OpenPortForward():
            return open_stream(question, context)
        case _:
            assert_never(question)


def pod_of(request: RuntimeRequest, known: CriInventory) -> PodUid | None:
    """Return the pod that a request changes; None if the pod is not known, or nothing changes."""
    match request:
        case RunSandbox(pod=pod) | CreateContainer(pod=pod) | ResizeContainer(pod=pod):
            return pod.uid
        case LookAtPod() | FindImage() | PullImage() | ReopenLog() | SignalContainer():
            return None
        case _:
            return known.owner(bare_id(request.id))
