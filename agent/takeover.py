"""Tells what would become of the pods that run on a node if this agent took it over. Changes nothing.

Manifests are read as by ``--validate``; the runtime is asked by calls that only read, and may be in use by a
kubelet. No actor, no port; of the root directory only the records of adopted UIDs and of static pods are
read, and which volumes others have made there.
"""

from __future__ import annotations

import json
import queue
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from actors.pods.records import RECORD_LIMIT, KeptPod, decoded_pod, record_name
from actors.volumes.making.foreign_search import foreign_volumes, pods_on_disk, stage_mounts
from actors.volumes.mounts.system_calls import KernelMounts
from agent.runtime_record import POD_RECORDS_DIRECTORY, places_of
from agent.takeover_rows import (
    FoundPods,
    FoundVolumes,
    TakeoverRow,
    as_json,
    as_text,
    is_undisturbed,
    takeover_rows,
)
from agent.validation import manifest_rules, state_at, write_lines
from files.records import read_file
from kernel import carried_out
from manifests.adopting import AdoptedUids
from messages.container_runtime import RuntimeFailure
from messages.pod_runtime import ContainerObserved, RuntimePod
from messages.pods import API, CONFIG_SOURCE, FILE, HTTP, Pod, PodUid, SourceName
from messages.units import Timestamp
from runtimes.containers.contents import newest_instances
from runtimes.containers.observing import runtime_pod
from runtimes.cri.operations.flow import RpcError
from runtimes.cri.operations.looking import glance, greet
from runtimes.cri.runtime_socket import RuntimeSocket
from runtimes.cri.wire.grpc_wire import GrpcWire
from runtimes.cri.wire.transport import Rpc, Wire
from settings.agent import Settings
from settings.containers import ContainerSettings
from settings.errors import StartError
from sources.kept_uids import kept_uids, record_file

T = TypeVar("T")


class NotExplainedError(StartError):
    """It cannot be told what would become of anything: the runtime or the manifests cannot be read."""

    exit_code: ClassVar[int] = 2


def explain_takeover(settings: Settings, output: str) -> int:
    """Write what would become of each pod, as ``text`` or ``json``.

    Return the exit code: 0 if nothing that runs would be stopped, and no pod would be held at its end by a
    volume that somebody else has made; else 1. Raises ``NotExplainedError``.
    """
    containers = settings.runtime.containers
    assert containers is not None  # noqa: S101  # was checked
    wire = GrpcWire(_socket(settings, containers))
    try:
        name, pods, instances = _seen(wire)
    finally:
        wire.close()
    served = _served(settings, tuple(pods.values()), adopts=containers.adopts_static_pods)
    volumes = _volumes(str(settings.root_dir.absolute()))
    found = FoundPods(
        running=pods,
        instances=instances,
        kept=_kept(settings.root_dir / POD_RECORDS_DIRECTORY, served),
    )
    rows = takeover_rows(
        served,
        found,
        _sources(settings),
        adopts=containers.adopts_static_pods,
        volumes=volumes,
    )
    is_json = output == "json"
    document = json.dumps(as_json(rows, name, volumes), indent=2) if is_json else ""
    write_lines([document] if is_json else as_text(rows, volumes))
    return _exit_code(rows)


def _socket(settings: Settings, told: ContainerSettings) -> Path:
    """Return the socket that is named, or found now. Raises ``NotExplainedError``."""
    if told.container_runtime_endpoint is not None:
        return told.container_runtime_endpoint
    socket = RuntimeSocket(places_of(settings.root_dir))
    socket.look()
    if socket.found is None:
        raise NotExplainedError(f"the container runtime cannot be asked: {socket.trouble}")
    return socket.found


def _exit_code(rows: tuple[TakeoverRow, ...]) -> int:
    return 0 if is_undisturbed(rows) and not any(row.held for row in rows) else 1


def _volumes(root: str) -> FoundVolumes:
    """Return what others have made below the root directory."""
    mounts = KernelMounts().table()
    try:
        uids = [PodUid(each) for each in pods_on_disk(root)]
        found = {uid: foreign_volumes(root, uid, mounts) for uid in uids}
        stages = stage_mounts(root, mounts)
    except OSError as error:
        message = f"{error.filename or root}: {error.strerror}"
        raise NotExplainedError(f"the root directory cannot be read: {message}") from None
    return FoundVolumes(held={uid: held for uid, held in found.items() if held}, stages=stages)


def _seen(
    wire: Wire,
) -> tuple[str, dict[PodUid, RuntimePod], dict[PodUid, tuple[ContainerObserved, ...]]]:
    outcome = partial(_outcome, wire)
    try:
        greeting = carried_out(greet(), outcome)
        if isinstance(greeting, RuntimeFailure):
            raise NotExplainedError(greeting.message)
        contents = carried_out(glance(greeting.name), outcome)
    except RpcError as error:
        message = " ".join(error.failure.message.split())
        raise NotExplainedError(f"the container runtime cannot be asked: {message}") from None
    pods = {uid: runtime_pod(uid, each) for uid, each in contents.items()}
    instances = {uid: tuple(newest_instances(each).values()) for uid, each in contents.items()}
    return f"{greeting.name} {greeting.version}", pods, instances


def _outcome(wire: Wire, rpc: Rpc[Any]) -> object:
    """Make a call, and wait for what comes of it."""
    answers: queue.SimpleQueue[object] = queue.SimpleQueue()
    wire.call(rpc, answers.put)
    return answers.get()


def _served(settings: Settings, pods: tuple[RuntimePod, ...], *, adopts: bool) -> tuple[Pod, ...]:
    """Return the static pods of the directory, with the UIDs that they would have."""
    path = settings.static_pod_path
    if path is None:
        return ()
    uids = AdoptedUids(FILE, kept_uids(record_file(settings.root_dir, FILE)) or ())
    if adopts:
        uids.learn(pods)
    try:
        state = state_at(path, manifest_rules(settings, FILE, uids), Timestamp(time.time()))
    except StartError as error:
        raise NotExplainedError(str(error)) from None
    return tuple(_from_file(pod) for pod in state.served or ())


def _kept(folder: Path, pods: tuple[Pod, ...]) -> dict[PodUid, KeptPod]:
    """Return what an earlier agent has on record of these pods. What cannot be read is nothing."""
    found = {}
    for pod in pods:
        with suppress(OSError):
            kept = decoded_pod(read_file(folder / record_name(pod.uid), RECORD_LIMIT))
            if kept is not None and kept.uid == pod.uid:
                found[pod.uid] = kept
    return found


def _from_file(pod: Pod) -> Pod:
    """Return a pod with its source, which otherwise the merge of all sources says."""
    metadata = pod.document["metadata"]
    annotations = {**metadata["annotations"], CONFIG_SOURCE: FILE}
    return Pod.of({**pod.document, "metadata": {**metadata, "annotations": annotations}})


def _sources(settings: Settings) -> frozenset[SourceName]:
    there = {
        FILE: settings.static_pod_path is not None,
        HTTP: bool(settings.static_pod_url),
        API: settings.cluster is not None,
    }
    return frozenset(source for source, is_there in there.items() if is_there)
