"""``actorlet pod NAME``: everything about one pod, and first of all why it does not run."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

import click

from command.agent_api import AgentApi
from command.completing import pod_names
from command.failures import NothingFoundError
from command.options import namespace_option, output_option, server_option
from command.pod_words import PodEvidence, pod_name, reasons
from command.reading import Document, part, parts, rows_of, text
from command.selecting import (
    in_namespace,
    manifests_named,
    manifests_of,
    pods_path,
    selected_pod,
    typed,
)
from command.written import JSON, NAME, TABLE, WIDE, YAML, ShownAnswer, show

if TYPE_CHECKING:
    from command.drawing import Drawing


@click.command("pod", short_help="One pod, and why it is not running")
@click.argument("name", shell_complete=pod_names)
@namespace_option("The pod is in this namespace.")
@server_option
@output_option(only=(WIDE, JSON, YAML, NAME))
def command(api: AgentApi, name: str, namespace: str, output: str) -> None:
    """Show one pod, and say why it is not running, or not ready.

    NAME may stand without its namespace, without the node's name that static pods end with, and may be a
    beginning that no other pod has, a UID, or the file of a manifest.
    """
    pod, manifests = _found(api, name, namespace), list[Document]()
    if pod is None:
        manifests = manifests_named(_sources(api, name), name)
        pod = _of_manifest(api, manifests, namespace)
    if pod is None:
        _tell_of_no_pod(name, manifests, output)
    else:
        _show(_evidence(api, pod), output, time.time())


def _found(api: AgentApi, name: str, namespace: str) -> Document | None:
    """Return what a table shows of the pod that is meant."""
    document = api.document(pods_path(namespace=namespace, name=name))
    return selected_pod(in_namespace(rows_of(document, "items", "/pods"), namespace), name)


def _of_manifest(api: AgentApi, manifests: list[Document], namespace: str) -> Document | None:
    """Return the pod of the first of ``manifests`` that has one."""
    for name in filter(None, (text(each, "pod") for each in manifests)):
        document = api.document(pods_path(namespace=namespace, name=name))
        for pod in in_namespace(rows_of(document, "items", "/pods"), namespace):
            if pod_name(pod) == name:
                return pod
    return None


def _sources(api: AgentApi, *names: str) -> Document:
    """Return the sources, with the verdicts on manifests that have to do with ``names``."""
    query = urlencode([("name", typed(each)) for each in names if each])
    return api.document(f"/sourcez?{query}")


def _evidence(api: AgentApi, brief: Document) -> PodEvidence:
    uid = text(brief, "metadata", "uid")
    told = _told(api, brief, uid)
    why = reasons(told)
    volumes = api.optional(f"/volumez?{urlencode({'uid': uid})}") or {}
    return PodEvidence(
        pod=part(told, "pod"),
        manifests=manifests_of(_sources(api, pod_name(brief), uid), brief),
        objects=parts(api.optional("/watchz") or {}, "objects"),
        story=told,
        volumes=[each for each in parts(volumes, "volumes") if text(each, "uid") == uid],
        events=parts(told, "events"),
        why=why,
    )


def _told(api: AgentApi, brief: Document, uid: str) -> Document:
    """Return what the agent tells of one pod; nothing if it is of another version."""
    told = api.optional(f"/ui/pods/{quote(uid, safe='')}") if uid else None
    if told is None and uid:
        pods = parts(api.document(pods_path(name=uid)), "items")
        if all(text(each, "metadata", "uid") != uid for each in pods):
            raise NothingFoundError(f"the pod {pod_name(brief)} has just gone")
    return told or {}


def _show(known: PodEvidence, output: str, now: float) -> None:
    def draw(drawing: Drawing, wide: bool) -> None:  # noqa: FBT001
        from command.pod_drawing import draw_pod  # noqa: PLC0415 - only tables need it

        draw_pod(drawing, known, now, wide=wide)

    document: dict[str, Any] = {
        "pod": known.pod,
        "summary": part(known.story, "summary"),
        "why": [each.told(now) for each in known.why],
        "advice": [each.advice for each in known.why],
        "manifests": known.manifests,
        "probes": parts(known.story, "probes"),
        "volumes": list(known.volumes),
        "events": list(known.events),
    }
    show(ShownAnswer(document=document, names=lambda: [pod_name(known.pod)], draw=draw), output)


def _tell_of_no_pod(name: str, manifests: list[Document], output: str) -> None:
    """Say why there is no such pod: its manifest is not served. Raises ``NothingFoundError`` at last."""
    if not manifests:
        raise NothingFoundError(
            f"there is no pod {name}, and no manifest of it: actorlet pods lists them"
        )
    if output in {JSON, YAML}:
        document = {
            "pod": None,
            "why": [_sentence(each) for each in manifests],
            "manifests": manifests,
        }
        show(ShownAnswer(document=document, names=lambda: (), draw=lambda *_: None), output)
    elif output in {TABLE, WIDE}:
        from command.drawing import drawing  # noqa: PLC0415 - only tables need it
        from command.tables import BAD  # noqa: PLC0415

        drawn = drawing()
        for each in manifests:
            drawn.line(_sentence(each), style=BAD)
    raise NothingFoundError(f"there is no pod {name}: its manifest is not served")


def _sentence(manifest: Document) -> str:
    path, verdict, reason = (text(manifest, each) for each in ("path", "verdict", "reason"))
    return f"{path}: {verdict}{reason and f': {reason}'}"
