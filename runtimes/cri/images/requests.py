"""The calls about images. Pure."""

from __future__ import annotations

from typing import Final

from messages.units import Seconds
from runtimes.cri.images.auths import RegistryAuth
from runtimes.cri.wire import cri_pb2 as cri
from runtimes.cri.wire.transport import Rpc

IMAGE_SERVICE: Final = "/runtime.v1.ImageService/"
QUESTION: Final = Seconds(120.0)
"""How long a runtime has to answer what changes nothing. A kubelet's ``runtimeRequestTimeout``."""
REMOVAL: Final = Seconds(240.0)
"""Removing a large image takes long on a slow disk."""


def image_status(image: str) -> Rpc[cri.ImageStatusResponse]:
    """Ask for one image, by name or id."""
    request = cri.ImageStatusRequest(image=cri.ImageSpec(image=image))
    return Rpc(f"{IMAGE_SERVICE}ImageStatus", request, cri.ImageStatusResponse, QUESTION)


def pull_image(
    image: str, auth: RegistryAuth | None, deadline: Seconds
) -> Rpc[cri.PullImageResponse]:
    """Pull an image, as anybody may if there is no ``auth``."""
    request = cri.PullImageRequest(
        image=cri.ImageSpec(image=image, user_specified_image=image),
        auth=None if auth is None else auth.as_message(),
    )
    return Rpc(f"{IMAGE_SERVICE}PullImage", request, cri.PullImageResponse, deadline)


def list_images() -> Rpc[cri.ListImagesResponse]:
    """Ask for all images."""
    return Rpc(
        f"{IMAGE_SERVICE}ListImages", cri.ListImagesRequest(), cri.ListImagesResponse, QUESTION
    )


def image_fs_info() -> Rpc[cri.ImageFsInfoResponse]:
    """Ask where images are, and what they take."""
    return Rpc(
        f"{IMAGE_SERVICE}ImageFsInfo", cri.ImageFsInfoRequest(), cri.ImageFsInfoResponse, QUESTION
    )


def remove_image(image_id: str) -> Rpc[cri.RemoveImageResponse]:
    """Remove an image with all its names."""
    request = cri.RemoveImageRequest(image=cri.ImageSpec(image=image_id))
    return Rpc(f"{IMAGE_SERVICE}RemoveImage", request, cri.RemoveImageResponse, REMOVAL)


def list_containers() -> Rpc[cri.ListContainersResponse]:
    """Ask for all containers, running or not."""
    return Rpc(
        "/runtime.v1.RuntimeService/ListContainers",
        cri.ListContainersRequest(),
        cri.ListContainersResponse,
        QUESTION,
    )


def runtime_status() -> Rpc[cri.StatusResponse]:
    """Ask how the runtime is configured."""
    return Rpc(
        "/runtime.v1.RuntimeService/Status",
        cri.StatusRequest(verbose=True),
        cri.StatusResponse,
        QUESTION,
    )
