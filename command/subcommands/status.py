"""``actorlet status``: whether the agent is well, and what of its pods and manifests is not."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import click

from command.agent_api import AgentApi
from command.failures import NOT_WELL, OK, StrangeAnswerError
from command.options import output_option, server_option
from command.pod_words import is_well, pod_name, reasons
from command.pod_words import state as pod_state
from command.reading import (
    CheckLine,
    Document,
    check_lines,
    count,
    flag,
    part,
    parts,
    rows_of,
    runtime_style,
    text,
)
from command.selecting import pods_path
from command.subcommands.sources import is_troubled, troubles_of, verdict_counts
from command.tables import BAD, DOUBTFUL, GOOD
from command.wording import counted, counted_words
from command.written import JSON, YAML, ShownAnswer, show

if TYPE_CHECKING:
    from command.drawing import Drawing

API_SERVER = "api"
"""The source whose pods come from no manifest."""
LOCAL_OBJECTS = "local-objects"
"""The source of Secrets and ConfigMaps, which are counted apart."""
MOST_EXPLAINED = 100
"""Of how many pods the agent is asked why they are not as they should be."""
MOST_NAMED = 10
"""How many pods and manifests are named. `actorlet pods --troubled` has the rest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthReport:
    """What a health endpoint says."""

    is_well: bool
    checks: tuple[CheckLine, ...]

    def troubles(self) -> list[CheckLine]:
        """Return the checks that fail."""
        return [each for each in self.checks if not each.is_well]


@click.command("status", short_help="Whether the agent is well, and what of its pods is not")
@click.option(
    "--strict",
    is_flag=True,
    help="End with 1 also if pods, manifests or sources are not well.",
)
@server_option
@output_option(only=(JSON, YAML))
@click.pass_context
def command(context: click.Context, api: AgentApi, *, strict: bool, output: str) -> None:
    """Say whether the agent is ready and healthy, and what of its pods and manifests is not well.

    The exit code is 1 if the agent is not ready, or not healthy. With --strict it is 1 also if anything
    else is named: a pod in trouble, a manifest to look at, a source that cannot be read, a volume of
    a driver that keeps a pod which is gone.
    """
    ready, healthy = health_report(api, "/readyz"), health_report(api, "/healthz")
    state = AgentState(
        pods=rows_document(api, pods_path(only_troubled=True), "items"),
        sources=rows_document(api, "/sourcez?troubled=true", "sources"),
    )
    why = first_causes(api) if state.troubled_pods() else {}
    held = held_volumes(api, state)
    agent = api.optional("/ui/agent") or {}

    def draw(drawing: Drawing, _wide: bool) -> None:  # noqa: FBT001
        _draw_health(drawing, api.name, ready, healthy)
        _draw_sources(drawing, state.troubled_sources())
        _draw_facts(drawing, state, agent)
        _draw_pods(drawing, state.troubled_pods(), why)
        _draw_held(drawing, held)
        _draw_manifests(drawing, state.troubled_manifests())

    told: dict[str, Any] = {name: dict(part(agent, name)) for name in ("version", "runtime")}
    told["oldVariables"] = count(agent, "pods", "oldVariables")
    document = {**_document(api.name, ready, healthy, state, why), "heldVolumes": held, **told}
    show(ShownAnswer(document=document, names=lambda: (), draw=draw), output)
    is_well = ready.is_well and healthy.is_well and not (strict and (held or state.is_troubled()))
    context.exit(OK if is_well else NOT_WELL)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentState:
    """What an agent says of its pods and manifests.

    One of this version tells those that somebody has to look at, and how many there are. One of another may
    tell them all.
    """

    pods: Document
    sources: Document

    @property
    def node(self) -> str:
        """The node's name; empty if it is not told."""
        told = (text(each, "spec", "nodeName") for each in parts(self.pods, "items"))
        return text(self.pods, "summary", "nodeName") or next(filter(None, told), "")

    def phases(self) -> Mapping[str, int]:
        """Return how many pods there are in each phase."""
        if told := part(self.pods, "summary", "phases"):
            return {phase: count(told, phase) for phase in told}
        return Counter(text(each, "status", "phase") for each in parts(self.pods, "items"))

    def verdicts(self) -> Mapping[str, int]:
        """Return how many manifests of pods there are of each verdict. A pod of the API server has none."""
        return self._verdicts(lambda name: name not in {API_SERVER, LOCAL_OBJECTS})

    def objects(self) -> Mapping[str, int]:
        """Return how many files of Secrets and ConfigMaps there are of each verdict."""
        return self._verdicts(lambda name: name == LOCAL_OBJECTS)

    def counts(self) -> list[tuple[str, str]]:
        """Return all of them in words."""
        objects = self.objects()
        return [
            ("pods", _sum(self.phases())),
            ("manifests", _sum(self.verdicts())),
            ("local objects", _sum(objects) if objects else ""),
        ]

    def _verdicts(self, is_wanted: Callable[[str], bool]) -> Mapping[str, int]:
        found: Counter[str] = Counter()
        for source in parts(self.sources, "sources"):
            if is_wanted(text(source, "name")):
                found.update(verdict_counts(source))
        return found

    def troubled_sources(self) -> list[Document]:
        """Return the sources that have listed, and cannot be looked at now."""
        sources = parts(self.sources, "sources")
        return [each for each in sources if text(each, "error") and flag(each, "ready")]

    def troubled_pods(self) -> list[Document]:
        """Return the pods that are in trouble."""
        return [each for each in parts(self.pods, "items") if not is_well(each)]

    def troubled_manifests(self) -> list[Document]:
        """Return the verdicts on manifests that somebody has to look at."""
        found = [each for one in parts(self.sources, "sources") for each in parts(one, "manifests")]
        return [each for each in found if is_troubled(each)]

    def is_troubled(self) -> bool:
        """Return whether there is anything to name."""
        return bool(self.troubled_sources() or self.troubled_pods() or self.troubled_manifests())


def rows_document(api: AgentApi, path: str, name: str) -> Document:
    """Return the document at ``path``, which has a list called ``name``. Raises ``NoAnswerError``."""
    document = api.document(path)
    rows_of(document, name, path.partition("?")[0])
    return document


def health_report(api: AgentApi, path: str) -> HealthReport:
    """Return what the health endpoint ``path`` says. Raises ``NoAnswerError``."""
    answer = api.answer(f"{path}?verbose")
    if answer.status not in {200, 500}:
        raise StrangeAnswerError(
            f"the agent at {api.name} answers {path} with {answer.status}: it is no agent, or of "
            "another version"
        )
    checks = tuple(check_lines(answer.body.decode(errors="replace")))
    return HealthReport(is_well=answer.status == 200, checks=checks)


def _sum(counts: Mapping[str, int]) -> str:
    many = sum(counts.values())
    return f"{many:,}: {counted_words(counts)}" if many else "none"


def _draw_health(drawing: Drawing, name: str, ready: HealthReport, healthy: HealthReport) -> None:
    is_well = ready.is_well and healthy.is_well
    link = "and" if ready.is_well == healthy.is_well else "but"
    words = f"{_not(ready)}ready {link} {_not(healthy)}healthy"
    drawing.line(f"The agent at {name} is {words}.", style=GOOD if is_well else BAD)
    for each in (*ready.troubles(), *healthy.troubles()):
        drawing.item(f"{each.name}: {each.text or 'failed'}", style=BAD)


def _draw_sources(drawing: Drawing, troubled: list[Document]) -> None:
    for each in troubled:
        drawing.item(f"source/{text(each, 'name')}: {text(each, 'error')}", style=DOUBTFUL)


def _draw_facts(drawing: Drawing, state: AgentState, agent: Document) -> None:
    """Draw what runs, and where. ``agent`` is what ``/ui/agent`` has answered."""
    version, runtime = part(agent, "version"), part(agent, "runtime")
    if due := text(version, "advice"):
        drawing.item(f"actorlet {due}", style=DOUBTFUL)
    told = [("version", text(version, "text")), ("runtime", text(runtime, "text"))]
    styles = {"runtime": runtime_style(runtime)}
    old = ("variables", _old(count(agent, "pods", "oldVariables")))
    drawing.pairs([("node", state.node), *told, *state.counts(), old], styles=styles)


def _old(many: int) -> str:
    """Return how many containers have old variables, in words; empty for none."""
    verb = "has" if many == 1 else "have"
    return (
        f"{counted(many, 'container')} {verb} old variables: actorlet pod NAME says which"
        if many
        else ""
    )


def _not(report: HealthReport) -> str:
    return "" if report.is_well else "not "


def first_causes(api: AgentApi) -> dict[str, str]:
    """Return why pods are not as they should be, by their UIDs: the first cause of the first of them.

    An agent of another version may not say it.
    """
    told = api.optional(f"/ui/pods?troubled&limit={MOST_EXPLAINED}") or {}
    explained = [each for each in parts(told, "pods") if "why" in each]
    now = time.time()
    return {
        text(each, "metadata", "uid"): why[0].told(now)
        for each in explained
        if (why := reasons(each))
    }


def held_volumes(api: AgentApi, state: AgentState) -> list[Document]:
    """Return the volumes of drivers that keep pods that no source lists now.

    Of pods that are listed, the first cause says so.
    """
    listed = {text(each, "metadata", "uid") for each in state.troubled_pods()}
    told = api.optional("/volumez?state=held") or {}
    return [
        each
        for each in parts(told, "volumes")
        if text(each, "state") == "held" and text(each, "uid") not in listed
    ]


def _draw_held(drawing: Drawing, held: list[Document]) -> None:
    if not held:
        return
    drawing.title(f"{counted(len(held), 'volume')} of drivers that keep pods which are gone")
    for each in held[:MOST_NAMED]:
        drawing.item(f"{text(each, 'uid')}: {text(each, 'trouble')}", style=DOUBTFUL)
    _draw_more(drawing, len(held), "/volumez?state=held")


def _draw_pods(drawing: Drawing, troubled: list[Document], why: dict[str, str]) -> None:
    if not troubled:
        return
    drawing.title(f"{counted(len(troubled), 'pod')} in trouble: actorlet pod NAME says more")
    for each in sorted(troubled, key=pod_name)[:MOST_NAMED]:
        cause = why.get(text(each, "metadata", "uid"), "")
        said = f"{pod_name(each)}: {pod_state(each)}{cause and f': {cause}'}"
        drawing.item(said, style=DOUBTFUL)
    _draw_more(drawing, len(troubled), "actorlet pods --troubled")


def _draw_manifests(drawing: Drawing, troubled: list[Document]) -> None:
    if not troubled:
        return
    drawing.title(f"{counted(len(troubled), 'manifest')} to look at")
    for each in troubled[:MOST_NAMED]:
        for style, said in troubles_of(each):
            drawing.item(said, style=style)
    _draw_more(drawing, len(troubled), "actorlet sources --troubled")


def _draw_more(drawing: Drawing, many: int, command_line: str) -> None:
    if many > MOST_NAMED:
        drawing.line(f"and {many - MOST_NAMED:,} more: {command_line}")


def _document(
    name: str,
    ready: HealthReport,
    healthy: HealthReport,
    state: AgentState,
    why: dict[str, str],
) -> dict[str, Any]:
    return {
        "server": name,
        "ready": ready.is_well,
        "healthy": healthy.is_well,
        "readyz": [asdict(each) for each in ready.checks],
        "healthz": [asdict(each) for each in healthy.checks],
        "troubledSources": [
            {"name": text(each, "name"), "error": text(each, "error")}
            for each in state.troubled_sources()
        ],
        "pods": sum(state.phases().values()),
        "troubledPods": [
            {
                "pod": pod_name(each),
                "state": pod_state(each),
                "why": why.get(text(each, "metadata", "uid"), ""),
            }
            for each in state.troubled_pods()
        ],
        "manifests": sum(state.verdicts().values()),
        "localObjects": sum(state.objects().values()),
        "troubledManifests": state.troubled_manifests(),
    }
