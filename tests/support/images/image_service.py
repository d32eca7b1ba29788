"""A runtime's service of images, in memory: it has images, and registries that it pulls from."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256

from google.protobuf.message import Message
from typing_extensions import override

from manifests.image_names import parse_image_name
from runtimes.cri.wire import cri_pb2 as cri
from runtimes.cri.wire.transport import Rpc, RpcCode, RpcFailure, RpcInFlight, RpcOutcome, Wire

Answer = Callable[[RpcOutcome], None]


def id_of(image: str) -> str:
    """Return the id that an image has, by its name in full."""
    return f"sha256:{sha256(image.encode()).hexdigest()}"


@dataclass
class RemoteImage:
    """An image of a registry."""

    size: int = 1_000
    users: tuple[str, ...] = ()
    """Who may pull it; empty for anybody."""


@dataclass
class StoredImage:
    """An image that the runtime has."""

    size: int
    names: set[str]
    pinned: bool = False


@dataclass
class Asked:
    """One call."""

    method: str
    image: str = ""
    user: str = ""


class NothingInFlight(RpcInFlight):
    @override
    def cancel(self) -> bool:
        return False


@dataclass
class ImageService(Wire):
    """Answers at once, unless pulls are held."""

    registry: dict[str, RemoteImage] = field(default_factory=dict)
    """By name in full."""
    images: dict[str, StoredImage] = field(default_factory=dict)
    """By id."""
    containers: dict[str, str] = field(default_factory=dict)
    """Ids of their images, by id."""
    asked: list[Asked] = field(default_factory=list)
    held: list[tuple[Rpc[Message], Answer]] = field(default_factory=list)
    """Pulls that are under way."""
    holds_pulls: bool = False
    away: bool = False
    fails: int = 0
    """So many calls are not even taken: a bug of the wire."""
    broken: dict[str, str] = field(default_factory=dict)
    """What is answered instead, by method."""
    mountpoint: str = "/var/lib/images"
    sandbox_image: str = ""
    has_file_system: bool = True

    # --- what a test does ------------------------------------------------------------------------------

    def offer(self, image: str, size: int = 1_000, users: tuple[str, ...] = ()) -> str:
        """Have a registry with an image, and return its id."""
        name = full(image)
        self.registry[name] = RemoteImage(size, users)
        return id_of(name)

    def store(self, image: str, size: int = 1_000, *, pinned: bool = False) -> str:
        """Have an image already, and return its id."""
        name = full(image)
        self.images[id_of(name)] = StoredImage(size, {name}, pinned)
        return id_of(name)

    def let_go(self, count: int = 1) -> None:
        """Answer the pulls that began first."""
        for _ in range(count):
            rpc, done = self.held.pop(0)
            done(self._answered(rpc))

    def cut(self) -> None:
        """Let the connection break: nobody knows what became of the pulls."""
        held, self.held = self.held, []
        for _, done in held:
            done(RpcFailure(code=RpcCode.UNAVAILABLE, message="connection reset"))

    def pulls(self) -> list[tuple[str, str]]:
        """Return image and user of each pull."""
        return [(each.image, each.user) for each in self.asked if each.method == "PullImage"]

    def removals(self) -> list[str]:
        return [each.image for each in self.asked if each.method == "RemoveImage"]

    # --- what a runtime does ---------------------------------------------------------------------------

    @override
    def call(self, rpc: Rpc[Message], done: Answer) -> RpcInFlight:
        request = rpc.request
        method = rpc.method.rpartition("/")[2]
        asked = Asked(method)
        if isinstance(
            request, cri.PullImageRequest | cri.ImageStatusRequest | cri.RemoveImageRequest
        ):
            asked.image = request.image.image
        if isinstance(request, cri.PullImageRequest):
            asked.user = request.auth.username
        self.asked.append(asked)
        if self.fails:
            self.fails -= 1
            raise RuntimeError("a bug")
        if self.holds_pulls and isinstance(request, cri.PullImageRequest):
            self.held.append((rpc, done))
        else:
            done(self._answered(rpc))
        return NothingInFlight()

    @override
    def follow(
        self,
        rpc: Rpc[Message],
        told: Callable[[Message], None],
        ended: Callable[[RpcFailure], None],
    ) -> RpcInFlight:
        raise AssertionError("nobody follows images")

    @override
    def close(self) -> None:
        self.away = True

    def _answered(self, rpc: Rpc[Message]) -> RpcOutcome:
        if self.away:
            return RpcFailure(code=RpcCode.UNAVAILABLE, message="connection refused")
        method = rpc.method.rpartition("/")[2]
        if method in self.broken:
            return RpcFailure(code=RpcCode.OTHER, message=self.broken[method])
        reply = self._reply(rpc.request)
        return reply or RpcFailure(code=RpcCode.UNIMPLEMENTED, message=method)

    def _reply(self, request: Message) -> RpcOutcome | None:
        match request:
            case cri.ImageStatusRequest():
                return self._status(request)
            case cri.PullImageRequest():
                return self._pull(request)
            case cri.RemoveImageRequest():
                self.images.pop(request.image.image, None)
                return cri.RemoveImageResponse()
            case cri.ListImagesRequest():
                images = [self._image(image_id) for image_id in self.images]
                return cri.ListImagesResponse(images=images)
            case cri.ListContainersRequest():
                return self._containers()
            case cri.ImageFsInfoRequest():
                where = cri.FilesystemIdentifier(mountpoint=self.mountpoint)
                usage = cri.FilesystemUsage(fs_id=where)
                usages = [usage] if self.has_file_system else []
                return cri.ImageFsInfoResponse(image_filesystems=usages)
            case cri.StatusRequest():
                config = json.dumps({"sandboxImage": self.sandbox_image})
                return cri.StatusResponse(info={"config": config})
            case _:
                return None

    def _status(self, request: cri.ImageStatusRequest) -> cri.ImageStatusResponse:
        wanted = request.image.image
        found = wanted if wanted in self.images else self._named(full(wanted))
        if found is None:
            return cri.ImageStatusResponse()
        return cri.ImageStatusResponse(image=self._image(found))

    def _pull(self, request: cri.PullImageRequest) -> RpcOutcome:
        name = full(request.image.image)
        remote = self.registry.get(name)
        if remote is None:
            return RpcFailure(code=RpcCode.NOT_FOUND, message=f"{name}: not found")
        if remote.users and request.auth.username not in remote.users:
            return RpcFailure(code=RpcCode.OTHER, message=f"{name}: authorization failed")
        self.images[id_of(name)] = StoredImage(remote.size, {name})
        return cri.PullImageResponse(image_ref=id_of(name))

    def _named(self, name: str) -> str | None:
        return next((each for each, image in self.images.items() if name in image.names), None)

    def _image(self, image_id: str) -> cri.Image:
        image = self.images[image_id]
        return cri.Image(
            id=image_id, repo_tags=sorted(image.names), size=image.size, pinned=image.pinned
        )

    def _containers(self) -> cri.ListContainersResponse:
        containers = [
            cri.Container(id=each, image_ref=image, image=cri.ImageSpec(image=image))
            for each, image in self.containers.items()
        ]
        return cri.ListContainersResponse(containers=containers)


def full(image: str) -> str:
    """Return the name of an image in full; an id as it is."""
    name = parse_image_name(image)
    return image if name is None else name.in_full
