"""``actorlet pod NAME``: everything about one pod, and first of all why it does not run."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import click

from command.agent_api import AgentApi
from command.answers import rows_of
from command.failures import NothingFoundError
from command.options import output_option, server_option
from command.pod_words import pod_name
from command.reading import Document, parts, text
from command.reasons import PodEvidence, reasons
from command.selecting import in_namespace, manifests_named, manifests_of, selected_pod
from command.showing import JSON, NAME, TABLE, WIDE, YAML, ShownAnswer, show

if TYPE_CHECKING:
    from command.drawing import Drawing


@click.command("pod", short_help="One pod, and why it is not running")
@click.argument("name")
@click.option("-n", "--namespace", default="", help="The pod is in this namespace.")
@server_option
@output_option(only=(WIDE, JSON, YAML, NAME))
def command(api: AgentApi, name: str, namespace: str, output: str) -> None:
    """Show one pod, and say why it is not running, or not ready.

    NAME may stand without its namespace, without the node's name that static pods end with, and may be a
    beginning that no other pod has, a UID, or the file of a manifest.
    """
    pods = in_namespace(rows_of(api.document("/pods"), "items", "/pods"), namespace)
    sources = api.document("/sourcez")
    pod = selected_pod(pods, name)
    if pod is None:
        pod = _of_manifest(pods, manifests_named(sources, name))
    if pod is None:
        _tell_of_no_pod(name, manifests_named(sources, name), output)
    else:
        known = _evidence(api, pod, sources)
        _show(known, output, time.time())


def _of_manifest(pods: list[Document], manifests: list[Document]) -> Document | None:
    """Return the pod of the first of ``manifests`` that has one."""
    by_name = {pod_name(each): each for each in pods}
    found = (by_name.get(text(each, "pod")) for each in manifests)
    return next((each for each in found if each is not None), None)


def _evidence(api: AgentApi, pod: Document, sources: Document) -> PodEvidence:
    uid = text(pod, "metadata", "uid")
    probes = api.optional("/probez") or {}
    told = api.document(f"/ui/pods/{quote(uid, safe='')}")
    return PodEvidence(
        pod=pod,
        manifests=manifests_of(sources, pod),
        objects=parts(api.optional("/watchz") or {}, "objects"),
        probes=next((each for each in parts(probes, "pods") if text(each, "uid") == uid), {}),
        volumes=[
            each
            for each in parts(api.optional("/volumez") or {}, "volumes")
            if text(each, "uid") == uid
        ],
        events=parts(told, "events"),
        why=reasons(told),
    )


def _show(known: PodEvidence, output: str, now: float) -> None:
    def draw(drawing: Drawing, wide: bool) -> None:  # noqa: FBT001
        from command.pod_drawing import draw_pod  # noqa: PLC0415 - only tables need it

        draw_pod(drawing, known, now, wide=wide)

    document: dict[str, Any] = {
        "pod": known.pod,
        "why": [each.text for each in known.why],
        "advice": [each.advice for each in known.why],
        "manifests": known.manifests,
        "probes": parts(known.probes, "probes"),
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
        from command.drawing import drawing  # noqa: PLC0415 - rich takes 60 ms
        from command.tables import BAD  # noqa: PLC0415

        drawn = drawing()
        for each in manifests:
            drawn.line(_sentence(each), style=BAD)
    raise NothingFoundError(f"there is no pod {name}: its manifest is not served")


def _sentence(manifest: Document) -> str:
    path, verdict, reason = (text(manifest, each) for each in ("path", "verdict", "reason"))
    return f"{path}: {verdict}{reason and f': {reason}'}"
