"""Where the documents say more about a flag or a field."""

from __future__ import annotations

from typing import Final

from settings.flags.definitions import FLAGS

_MORE: Final = {
    "--file-check-frequency": "runtime-semantics.md#files",
    "--local-objects-dir": "secrets-and-configmaps.md#secrets-without-a-control-plane",
    "--kubeconfig": "joining-a-cluster.md",
    "--runtime": "configuration.md#what-runs-pods",
    "--container-runtime-endpoint": "configuration.md#what-runs-pods",
    "--hollow-capacity": "configuration.md#what-pods-may-request",
    "--hollow-times": "hollow-nodes.md#times",
    "--hollow-records": "hollow-nodes.md#what-outlives-what",
    "--hollow-volumes": "hollow-nodes.md#volumes",
    "--force-hollow": "joining-a-cluster.md#a-hollow-node-and-a-real-one-of-its-name",
    "--pod-cidr": "hollow-nodes.md#addresses",
    "--adopt-static-pods": "moving-from-a-kubelet.md",
    "--explain-takeover": "moving-from-a-kubelet.md#ask",
    "--validate": "manifests.md#before-an-agent-reads-them",
    "--image-credential-provider-config": "containers.md#credentials",
    "--serialize-image-pulls": "containers.md#images",
    "--image-gc-high-threshold": "containers.md#removing-images",
    "--container-log-max-size": "containers.md",
    "--eviction-hard": "configuration.md#what-pods-may-request",
    "--max-pods": "configuration.md#what-pods-may-request",
    "--read-only-port": "endpoints.md",
    "--allow-host": "endpoints.md#endpoints",
    "configMapAndSecretChangeDetectionStrategy": "secrets-and-configmaps.md#in-a-cluster",
    "userNamespaces.idsPerPod": "containers.md#users-of-their-own",
    "imagePullCredentialsVerificationPolicy": "containers.md#who-may-have-an-image",
    "preloadedImagesVerificationAllowlist": "containers.md#who-may-have-an-image",
}
"""Pages beside the folder of the reference, by a flag or by a field that no flag sets."""


def of_flag(name: str) -> str:
    """Return the link for a flag; empty if there is none."""
    found = _MORE.get(name)
    return f"../{found}" if found else ""


def of_field(path: str) -> str:
    """Return the link for a field, or for the flag that sets it; empty if there is none."""
    flag = next((flag.opts[-1] for flag in FLAGS if flag.field == path), path)
    return of_flag(flag)
