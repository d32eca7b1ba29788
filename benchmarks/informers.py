"""The official client's informers, one for each Secret, in a process of their own: the peer of watchers.

``python -m benchmarks.informers KUBECONFIG COUNT`` follows the Secrets ``secret-0`` to ``secret-<COUNT-1>``
of the namespace ``default``. Each line on its standard input is answered by one line of JSON, and the end
of the input is its own end. The informers all ask through one client, which counts its requests.
"""

from __future__ import annotations

import functools
import json
import logging
import resource
import sys
import time
from typing import Any

import kubernetes.config
import kubernetes.informer
from kubernetes import client

HOW, WHEN = "how", "when"
"""How far it is: requests sent, Secrets listed and when the last of them was, changes told. And when each
change was told, by its version, in seconds of the clock that all processes of a machine share."""


class Informers:
    """As many informers, and what their handlers were told."""

    def __init__(self, count: int) -> None:
        # Each of these is one operation of the interpreter, since all threads write them.
        self._requests: list[None] = []
        self._listed: dict[str, float] = {}
        self._told: dict[str, float] = {}
        followed = self._counted(client.CoreV1Api().list_namespaced_secret)
        make: Any = kubernetes.informer.SharedInformer  # the client's own typing stops here
        self._informers = [
            make(followed, namespace="default", field_selector=f"metadata.name=secret-{number}")
            for number in range(count)
        ]
        for informer in self._informers:
            informer.add_event_handler("ADDED", self._note_listed)
            informer.add_event_handler("MODIFIED", self._note_told)
            informer.start()

    def answer(self, question: str) -> dict[str, float]:
        """Return what is asked for: ``HOW`` or ``WHEN``."""
        if question == WHEN:
            return dict(self._told)
        return {
            "requests": len(self._requests),
            "listed": len(self._listed),
            "lastListed": max(self._listed.values(), default=0.0),
            "told": len(self._told),
        }

    def _counted(self, ask: Any) -> Any:
        @functools.wraps(ask)
        def counted(*arguments: Any, **options: Any) -> Any:
            self._requests.append(None)
            return ask(*arguments, **options)

        return counted

    def _note_listed(self, secret: Any) -> None:
        self._listed[secret.metadata.name] = time.perf_counter()

    def _note_told(self, secret: Any) -> None:
        self._told[secret.metadata.resource_version] = time.perf_counter()


def main(kubeconfig: str, count: str) -> None:
    """Follow the Secrets and answer questions, until there are no more."""
    logging.disable()  # each failure with its traceback: the writing would be what is measured
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    config: Any = kubernetes.config
    config.load_kube_config(kubeconfig)
    informers = Informers(int(count))
    for line in sys.stdin:
        print(json.dumps(informers.answer(line.strip())), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
