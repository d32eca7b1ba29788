"""Labels and annotations by which kubelets, and those who read them, know what is whose. Pure."""

from __future__ import annotations

from typing import Final

POD_NAME: Final = "io.kubernetes.pod.name"
POD_NAMESPACE: Final = "io.kubernetes.pod.namespace"
POD_UID: Final = "io.kubernetes.pod.uid"
CONTAINER_NAME: Final = "io.kubernetes.container.name"

CONTAINER_HASH: Final = "io.kubernetes.container.hash"
RESTART_COUNT: Final = "io.kubernetes.container.restartCount"
TERMINATION_MESSAGE_PATH: Final = "io.kubernetes.container.terminationMessagePath"
TERMINATION_MESSAGE_POLICY: Final = "io.kubernetes.container.terminationMessagePolicy"
PRE_STOP_HANDLER: Final = "io.kubernetes.container.preStopHandler"
PORTS: Final = "io.kubernetes.container.ports"
DELETION_GRACE: Final = "io.kubernetes.pod.deletionGracePeriod"
TERMINATION_GRACE: Final = "io.kubernetes.pod.terminationGracePeriod"

WHOLE_HASH: Final = "actorlet/container-hash"
"""Of a container of a static pod whose UID its user has fixed: with the digest of all that is said of it."""
RESOURCES: Final = "actorlet/resources"
"""Of a container: the resources of the specification that it was created with, as JSON."""
SIDECAR: Final = "actorlet/sidecar"
"""Of a container that is a sidecar: its place among the pod's init containers, from 0 on."""
VOLUME_IMAGES: Final = "actorlet/volume-images"
"""Of a container: the ids of the images that it mounts, with a blank between. No runtime tells them."""
USER_NAMESPACE: Final = "actorlet/user-namespace"
"""Of a sandbox: the first of its user ids on the node, and how many there are: ``65536:65536``."""
VARIABLES_FROM: Final = "actorlet/variables-from"
"""Of a container: the objects that its variables were made from, as JSON: kind, name and ``resourceVersion``
of each."""
