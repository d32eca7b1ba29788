"""A CSI driver that is a program: a directory for each volume, which it binds to where a kubelet asks for it.

It registers with the kubelet of a root directory. Each call is a line of a file, once its work is done:
``NodePublishVolume HANDLE PATH``. Called as ``csi_driver NAME ROOT FOLDER``.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import grpc
from google.protobuf.message import Message

from tests.support.kubelets.csi_messages import CLASSES, STAGES_VOLUMES, message

CALLS: Final = "calls"
"""The file of the calls, in the folder."""


class CsiDriver:
    """Answers a kubelet. Each call may be repeated."""

    def __init__(self, name: str, folder: Path) -> None:
        self._name = name
        self._folder = folder

    def serve(self, root: Path) -> None:
        """Serve at sockets below the kubelet's root directory until the process is ended."""
        own = root / "plugins" / self._name / "csi.sock"
        registry = root / "plugins_registry" / f"{self._name}-reg.sock"
        servers = [
            _server(own, "csi.v1.Node", self._node()),
            _server(registry, "pluginregistration.Registration", self._registration(str(own))),
        ]
        signal.sigwait({signal.SIGTERM})
        for each in servers:
            each.stop(None)

    def _registration(self, endpoint: str) -> dict[str, tuple[str, Callable[[Any], Message]]]:
        versions = ["1.0.0"]
        info = message(
            "PluginInfo",
            type="CSIPlugin",
            name=self._name,
            endpoint=endpoint,
            supported_versions=versions,
        )
        return {
            "GetInfo": ("InfoRequest", lambda _: info),
            "NotifyRegistrationStatus": ("RegistrationStatus", self._registered),
        }

    def _node(self) -> dict[str, tuple[str, Callable[[Any], Message]]]:
        rpc = message("Rpc", type=STAGES_VOLUMES)
        able = message("Capabilities", capabilities=[message("Capability", rpc=rpc)])
        return {
            "NodeGetInfo": ("Empty", lambda _: message("NodeInfo", node_id="node")),
            "NodeGetCapabilities": ("Empty", lambda _: able),
            "NodeStageVolume": ("Stage", self._stage),
            "NodeUnstageVolume": ("Unstage", self._unstage),
            "NodePublishVolume": ("Publish", self._publish),
            "NodeUnpublishVolume": ("Unpublish", self._unpublish),
        }

    def _registered(self, told: Any) -> Message:
        return self._done("NotifyRegistrationStatus", str(told.plugin_registered), told.error)

    def _stage(self, asked: Any) -> Message:
        data = self._folder / "data" / asked.volume_id
        data.mkdir(parents=True, exist_ok=True)
        _bind(data, asked.staging_target_path)
        return self._done("NodeStageVolume", asked.volume_id, asked.staging_target_path)

    def _unstage(self, asked: Any) -> Message:
        _unmount(asked.staging_target_path)
        return self._done("NodeUnstageVolume", asked.volume_id, asked.staging_target_path)

    def _publish(self, asked: Any) -> Message:
        Path(asked.target_path).mkdir(exist_ok=True)
        _bind(Path(asked.staging_target_path), asked.target_path)
        return self._done("NodePublishVolume", asked.volume_id, asked.target_path)

    def _unpublish(self, asked: Any) -> Message:
        _unmount(asked.target_path)
        if Path(asked.target_path).exists():
            Path(asked.target_path).rmdir()
        return self._done("NodeUnpublishVolume", asked.volume_id, asked.target_path)

    def _done(self, *words: str) -> Message:
        with (self._folder / CALLS).open("a") as file:
            file.write(" ".join(words) + "\n")
        return message("Empty")


def _server(
    socket: Path, service: str, methods: dict[str, tuple[str, Callable[[Any], Message]]]
) -> grpc.Server:
    handlers = {
        method: grpc.unary_unary_rpc_method_handler(
            lambda request, _, handle=handle: handle(request),
            request_deserializer=CLASSES[asked].FromString,
            response_serializer=lambda answer: answer.SerializeToString(),
        )
        for method, (asked, handle) in methods.items()
    }
    socket.parent.mkdir(parents=True, exist_ok=True)
    server = grpc.server(ThreadPoolExecutor(1))
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, handlers),))
    server.add_insecure_port(f"unix:{socket}")
    server.start()
    return server


def _is_mounted(path: str) -> bool:
    return subprocess.run(["mountpoint", "-q", path], check=False).returncode == 0


def _bind(source: Path, target: str) -> None:
    if not _is_mounted(target):
        subprocess.run(["mount", "--bind", source, target], check=True)


def _unmount(target: str) -> None:
    if _is_mounted(target):
        subprocess.run(["umount", target], check=True)


if __name__ == "__main__":
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    CsiDriver(sys.argv[1], Path(sys.argv[3])).serve(Path(sys.argv[2]))
