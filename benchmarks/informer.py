"""The official client's informer, in a process of its own: the peer of the API server source.

``python -m benchmarks.informer KUBECONFIG NODE`` follows the pods of a node, and prints for each pod that
it is told of when that was, by the clock that all processes of a machine share.
"""

from __future__ import annotations

import sys
import threading
import time
from typing import Any

import kubernetes.config
import kubernetes.informer
from kubernetes import client


def main(kubeconfig: str, node: str) -> None:
    """Print ``NAME SECONDS`` for each pod that is added, until the process is ended."""
    config: Any = kubernetes.config
    config.load_kube_config(kubeconfig)
    make: Any = kubernetes.informer.SharedInformer  # the client's own typing stops here
    informer = make(
        client.CoreV1Api().list_pod_for_all_namespaces, field_selector=f"spec.nodeName={node}"
    )

    def added(pod: Any) -> None:
        print(pod.metadata.name, time.perf_counter(), flush=True)

    informer.add_event_handler("ADDED", added)
    informer.start()
    threading.Event().wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
