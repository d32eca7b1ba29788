"""A registry of images on loopback, as ``docker pull`` would talk to it. It has local images alone."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from typing_extensions import override

from tests.support.containers.images import LocalImage, configuration, layer
from tests.support.patience import PATIENCE

MANIFEST: Final = "application/vnd.oci.image.manifest.v1+json"
CONFIG: Final = "application/vnd.oci.image.config.v1+json"
BLOB: Final = "application/octet-stream"
LAYER: Final = "application/vnd.oci.image.layer.v1.tar"


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


@dataclass
class Registry:
    """What a registry has, and what it was asked for."""

    name: str
    """As it stands in the names of its images."""
    port: int = 0
    login: tuple[str, str] | None = None
    """User and password without which nobody gets anything."""
    pulls: list[str] = field(default_factory=list)
    """Names and tags of images that were asked for, each time by their manifest."""
    refusals: int = 0
    """Requests without the right login."""
    gate: threading.Event | None = None
    """Blobs are not sent before it is set."""
    cut_after: int | None = None
    """Of each blob only so many bytes are sent; then the connection is cut."""
    blobs: dict[str, bytes] = field(default_factory=dict, repr=False)
    manifests: dict[str, bytes] = field(default_factory=dict, repr=False)

    def add(self, image: LocalImage, busybox: Path) -> None:
        """Have an image, whose name begins with that of the registry."""
        files = layer(busybox)
        config = json.dumps(configuration(image, files)).encode()
        manifest = {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": self._blob(CONFIG, config),
            "layers": [self._blob(LAYER, files)],
        }
        content = json.dumps(manifest).encode()
        repository, _, tag = image.name.removeprefix(f"{self.name}/").rpartition(":")
        for reference in (tag, _digest(content)):
            self.manifests[f"{repository}/manifests/{reference}"] = content

    def spoil(self) -> None:
        """Have nothing but garbage for manifests."""
        for reference in self.manifests:
            self.manifests[reference] = b'{"schemaVersion": "two", '

    def lets_in(self, authorization: str | None) -> bool:
        """Return whether who says this gets an answer."""
        if self.login is None:
            return True
        expected = base64.b64encode(":".join(self.login).encode()).decode()
        if authorization == f"Basic {expected}":
            return True
        self.refusals += 1
        return False

    def find(self, path: str) -> tuple[str, bytes] | None:
        """Return type and content of what is asked for by a path below ``/v2/``."""
        if content := self.manifests.get(path):
            return MANIFEST, content
        if content := self.blobs.get(path.rpartition("/blobs/")[2]):
            return BLOB, content
        return None

    def _blob(self, kind: str, content: bytes) -> dict[str, Any]:
        self.blobs[_digest(content)] = content
        return {"mediaType": kind, "digest": _digest(content), "size": len(content)}


class _Handler(BaseHTTPRequestHandler):
    registry: Registry

    def do_GET(self) -> None:
        self._answer(with_content=True)

    def do_HEAD(self) -> None:
        self._answer(with_content=False)

    def _answer(self, *, with_content: bool) -> None:
        path = urlsplit(self.path).path.removeprefix("/v2/")
        if not self.registry.lets_in(self.headers["Authorization"]):
            self._send(HTTPStatus.UNAUTHORIZED, "", b"", with_content=False)
            return
        if "/manifests/" in path and not with_content:
            self.registry.pulls.append(path.replace("/manifests/", ":"))
        found = self.registry.find(path)
        if found is None:
            self._send(HTTPStatus.NOT_FOUND, "text/plain", b"", with_content=with_content)
        else:
            self._send(HTTPStatus.OK, *found, with_content=with_content)

    def _send(self, status: HTTPStatus, kind: str, content: bytes, *, with_content: bool) -> None:
        self.send_response(status)
        if status is HTTPStatus.UNAUTHORIZED:
            self.send_header("WWW-Authenticate", 'Basic realm="tests"')
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        if kind == MANIFEST:
            self.send_header("Docker-Content-Digest", _digest(content))
        self.end_headers()
        if with_content:
            self._write(content, is_blob=kind == BLOB)

    def _write(self, content: bytes, *, is_blob: bool) -> None:
        registry = self.registry
        if is_blob and registry.gate is not None:
            assert registry.gate.wait(PATIENCE)
        if is_blob and registry.cut_after is not None:
            content, self.close_connection = content[: registry.cut_after], True
        self.wfile.write(content)

    @override
    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@contextmanager
def registry_of(
    name: str,
    images: Sequence[LocalImage],
    busybox: Path,
    login: tuple[str, str] | None = None,
) -> Iterator[Registry]:
    """Serve ``images`` for the ``with`` block, at a free port."""
    registry = Registry(name=name, login=login)
    for image in images:
        registry.add(image, busybox)
    handler = type("Handler", (_Handler,), {"registry": registry})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        registry.port = server.server_port
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield registry
        finally:
            server.shutdown()
            thread.join()
