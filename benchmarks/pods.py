"""Pods to measure with: of the size and shape of real ones, about 1 kB of JSON."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import yaml

from messages.pods import CONFIG_HASH, Pod

_MANIFEST = """\
apiVersion: v1
kind: Pod
metadata:
  name: NAME
  labels:
    app: NAME
    tier: edge
spec:
  hostNetwork: true
  priorityClassName: system-node-critical
  terminationGracePeriodSeconds: 30
  containers:
    - name: main
      image: registry.example/web:1
      args: ["--listen=:8080", "--log-level=info"]
      env:
        - name: MODE
          value: edge
        - name: ZONE
          value: north
      ports:
        - name: http
          containerPort: 8080
          hostPort: 8080
          protocol: TCP
      resources:
        requests:
          cpu: 50m
          memory: 32Mi
        limits:
          memory: 128Mi
      readinessProbe:
        httpGet:
          path: /ready
          port: 8080
        periodSeconds: 10
      livenessProbe:
        httpGet:
          path: /alive
          port: 8080
        periodSeconds: 10
        failureThreshold: 3
      volumeMounts:
        - name: scratch
          mountPath: /tmp
  volumes:
    - name: scratch
      emptyDir: {}
"""


def manifest(name: str) -> bytes:
    """Return the manifest of a pod called ``name``, written as people write it."""
    return _MANIFEST.replace("NAME", name).encode()


def decoded_pod(number: int, revision: int) -> Pod:
    """Return pod ``number`` in one of its revisions, which differ in the image.

    Decoded anew each time, so that no two pods share any part: comparing them costs what it costs.
    """
    name, uid = f"pod-{number}-node1", f"{number:032x}"
    document: dict[str, Any] = json.loads(_as_json().replace("NAME", name))
    document["metadata"] |= {
        "namespace": "default",
        "uid": uid,
        "annotations": {CONFIG_HASH: uid},
    }
    document["spec"]["containers"][0]["image"] = f"registry.example/web:{revision}"
    return Pod.of(document)


@cache
def _as_json() -> str:
    return json.dumps(yaml.safe_load(_MANIFEST))
