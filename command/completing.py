"""What shells complete: names of pods, where an agent tells them soon."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Final

import click
from click.core import ParameterSource

from command.agent_api import AgentApi
from command.control_api import ControlPlace
from command.failures import NoAnswerError
from command.pod_words import pod_name
from command.reading import Document, rows_of, text
from command.selecting import in_namespace, pods_path
from command.server_names import DEFAULT_SERVER, ROOT_DIR, server_name

SOON: Final = 0.2
"""Seconds that a person waits after the key was pressed."""
PATIENCE: Final = "ACTORLET_COMPLETE_WITHIN"
"""The variable of those who wait longer: their agent is far away, or their machine is slow."""


def pod_names(context: click.Context, _parameter: click.Parameter, begun: str) -> list[str]:
    """Return the names of pods that begin with what was typed; none if no agent answers soon.

    They are without the namespace, unless one was begun.
    """
    namespace = _said(context, "namespace")

    def asked() -> list[str]:
        pods = _listed(context, pods_path(namespace=namespace, name=begun))
        found = in_namespace(pods, namespace)
        names = (
            map(pod_name, found) if "/" in begun else (text(e, "metadata", "name") for e in found)
        )
        return sorted({name for name in names if name.startswith(begun)})

    return _soon(asked)


def _said(context: click.Context, name: str) -> str:
    said = context.params.get(name)
    return said if isinstance(said, str) else ""


def _listed(context: click.Context, path: str) -> list[Document]:
    """Return the pods of the first agent of those that could be meant that answers."""
    for api in _agents(context):
        try:
            return rows_of(api.document(path), "items", "/pods")
        except NoAnswerError:
            continue
    return []


def _agents(context: click.Context) -> list[AgentApi]:
    """Return what a subcommand would ask. One that uses the socket may be completed without rights to it."""
    root_dir = Path(context.params.get("root_dir") or ROOT_DIR)
    is_by_socket = "root_dir" in context.params
    places = [AgentApi(ControlPlace(root_dir), _patience())] if is_by_socket else []
    own = context.params.get("api")
    if (
        isinstance(own, AgentApi)
        and context.get_parameter_source("api") is ParameterSource.COMMANDLINE
    ):
        return [own]
    said = context.find_root().params.get("server") or DEFAULT_SERVER
    try:
        return [*places, AgentApi(server_name(said), _patience())]
    except NoAnswerError:
        return places


def _soon(asked: Callable[[], list[str]]) -> list[str]:
    """Return what ``asked`` finds out, or nothing if that takes too long."""
    found = SimpleQueue[list[str]]()
    # It ends with the process, even while it waits.
    Thread(target=lambda: found.put(asked()), daemon=True).start()
    try:
        return found.get(timeout=_patience())
    except Empty:
        return []


def _patience() -> float:
    try:
        return min(max(float(os.environ.get(PATIENCE, SOON)), 0.0), 60.0)
    except ValueError:
        return SOON
