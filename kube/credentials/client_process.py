"""A program that asks the kubernetes client what credentials mean. A question comes in, an answer goes out.

The only module that imports the client, which takes 0.3 s and 19 MB. The agent runs this program as a
process that ends, and never imports it; ``client`` has the agent's end.

It touches none of the user's files, so it cannot hang on one. Where the client wants to see a file, it is
shown one in memory.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Final, TypeAlias

from kubernetes.client import Configuration
from kubernetes.config.config_exception import ConfigException
from kubernetes.config.incluster_config import InClusterConfigLoader
from kubernetes.config.kube_config import KubeConfigLoader

Document: TypeAlias = Mapping[str, Any]
_NOWHERE: Final = "/nonexistent"


def answer(question: Document) -> Document:
    """Return what the client makes of the credentials in ``question``.

    If the client refuses them, that is its reason alone: for a kubeconfig this may contain anything.
    """
    found = Configuration()
    try:
        with ExitStack() as files:
            _loader(question, files).load_and_set(found)
    except ConfigException as error:
        return {"refused": str(error)}
    except (ValueError, TypeError):
        return {"refused": "it is of another form"}
    return {
        "server": found.host,
        "authorization": found.api_key.get("BearerToken", ""),
        "has_authority": found.ssl_ca_cert is not None,
        "has_identity": found.cert_file is not None and found.key_file is not None,
        "verify": found.verify_ssl,
        "tls_server_name": found.tls_server_name or "",
    }


def _loader(question: Document, files: ExitStack) -> Any:
    if "cluster" not in question:
        token, authority = (
            _NOWHERE if text is None else _file(files, text)
            for text in (question["token"], question["authority"])
        )
        return InClusterConfigLoader(  # type: ignore[no-untyped-call]  # it has no types
            token, authority, environ=question["environment"]
        )
    cluster, user = dict(question["cluster"]), dict(question["user"])
    for field in question["files"]:
        # Without content: the client only looks whether there is a file.
        entry = cluster if field == "certificate-authority" else user
        entry[field] = _file(files)
    document = {
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
        "clusters": [{"name": "it", "cluster": cluster}],
        "users": [{"name": "it", "user": user}],
    }
    return KubeConfigLoader(document, "it")  # type: ignore[no-untyped-call]  # it has no types


def _file(files: ExitStack, content: str = "") -> str:
    """Return the path of a file in memory. It exists as long as ``files`` are open."""
    descriptor = os.memfd_create("credentials")
    files.callback(os.close, descriptor)
    os.write(descriptor, content.encode())
    return f"/proc/self/fd/{descriptor}"


if __name__ == "__main__":
    # Where memory is short, the kernel ends this process, and not the agent that asks.
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    json.dump(answer(json.load(sys.stdin)), sys.stdout)
