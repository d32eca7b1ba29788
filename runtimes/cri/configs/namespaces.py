"""Which namespaces a pod shares with its node, and its containers with each other. Pure."""

from __future__ import annotations

from messages.pods import JsonObject, Pod
from runtimes.cri.configs.documents import all_containers, security_of, spec_of
from runtimes.cri.configs.refusals import ConfigRefusedError
from runtimes.cri.wire import cri_pb2 as cri


def pod_namespaces(pod: Pod) -> cri.NamespaceOption:
    """Return the namespaces of a pod, but for those of its users."""
    spec = spec_of(pod)
    shared = cri.POD if spec.get("shareProcessNamespace") else cri.CONTAINER
    return cri.NamespaceOption(
        network=cri.NODE if is_on_host_network(spec) else cri.POD,
        pid=cri.NODE if spec.get("hostPID") else shared,
        ipc=cri.NODE if spec.get("hostIPC") else cri.POD,
    )


def container_namespaces(
    sandbox: cri.PodSandboxConfig, container: JsonObject, target_id: str
) -> cri.NamespaceOption:
    """Return the namespaces of a container in ``sandbox``.

    ``target_id`` is the running container whose processes an ephemeral container sees; empty if it does not
    run. Raises ``ConfigRefusedError`` then.
    """
    options = cri.NamespaceOption()
    options.CopyFrom(sandbox.linux.security_context.namespace_options)
    if target := container.get("targetContainerName"):
        if not target_id:
            raise ConfigRefusedError(f"unable to find target container {target}")
        options.pid = cri.TARGET
        options.target_id = target_id
    return options


def is_on_host_network(spec: JsonObject) -> bool:
    """Return whether a pod has the node's network."""
    return bool(spec.get("hostNetwork"))


def has_privileged_container(spec: JsonObject) -> bool:
    """Return whether any container of a pod is privileged: the sandbox has to allow it."""
    return any(security_of(container).get("privileged") for container in all_containers(spec))
