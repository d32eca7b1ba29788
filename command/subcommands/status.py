"""``actorlet status``: whether the agent is well, and what of its pods and manifests is not."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import click

from command.agent_api import AgentApi
from command.answers import rows_of
from command.failures import NOT_WELL, OK, StrangeAnswerError
from command.health_checks import CheckLine, check_lines
from command.options import output_option, server_option
from command.pod_words import is_well, pod_name, state
from command.reading import Document, parts, text
from command.reasons import reasons
from command.showing import JSON, YAML, ShownAnswer, show
from command.subcommands.sources import is_troubled, troubles_of
from command.tables import BAD, DOUBTFUL, GOOD
from command.wording import counted, tally

if TYPE_CHECKING:
    from command.drawing import Drawing

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
@server_option
@output_option(only=(JSON, YAML))
@click.pass_context
def command(context: click.Context, api: AgentApi, output: str) -> None:
    """Say whether the agent is ready and healthy, and what of its pods and manifests is not well.

    The exit code is 1 if the agent is not ready, or not healthy.
    """
    ready, healthy = health_report(api, "/readyz"), health_report(api, "/healthz")
    pods = rows_of(api.document("/pods"), "items", "/pods")
    sources = rows_of(api.document("/sourcez"), "sources", "/sourcez")
    manifests = [each for one in sources for each in parts(one, "manifests")]
    why = first_causes(api)

    def draw(drawing: Drawing, _wide: bool) -> None:  # noqa: FBT001
        _draw_health(drawing, api.name, ready, healthy)
        drawing.pairs([("node", _node(pods)), *_counts(pods, manifests)])
        _draw_pods(drawing, [each for each in pods if not is_well(each)], why)
        _draw_manifests(drawing, [each for each in manifests if is_troubled(each)])

    document = _document(api.name, ready, healthy, pods, manifests, why)
    show(ShownAnswer(document=document, names=lambda: (), draw=draw), output)
    context.exit(OK if ready.is_well and healthy.is_well else NOT_WELL)


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


def _node(pods: list[Document]) -> str:
    return next(filter(None, (text(each, "spec", "nodeName") for each in pods)), "")


def _counts(pods: list[Document], manifests: list[Document]) -> list[tuple[str, str]]:
    return [
        ("pods", _sum(pods, (text(each, "status", "phase") for each in pods))),
        ("manifests", _sum(manifests, (text(each, "verdict") for each in manifests))),
    ]


def _sum(rows: list[Document], words: Any) -> str:
    return f"{len(rows):,}: {tally(words)}" if rows else "none"


def _draw_health(drawing: Drawing, name: str, ready: HealthReport, healthy: HealthReport) -> None:
    is_well = ready.is_well and healthy.is_well
    link = "and" if ready.is_well == healthy.is_well else "but"
    words = f"{_not(ready)}ready {link} {_not(healthy)}healthy"
    drawing.line(f"The agent at {name} is {words}.", style=GOOD if is_well else BAD)
    for each in (*ready.troubles(), *healthy.troubles()):
        drawing.item(f"{each.name}: {each.text or 'failed'}", style=BAD)


def _not(report: HealthReport) -> str:
    return "" if report.is_well else "not "


def first_causes(api: AgentApi) -> dict[str, str]:
    """Return why pods are not as they should be, by their UIDs: the first cause of the first of them."""
    told = parts(api.document(f"/ui/pods?troubled&limit={MOST_EXPLAINED}"), "pods")
    return {text(each, "metadata", "uid"): why[0].text for each in told if (why := reasons(each))}


def _draw_pods(drawing: Drawing, troubled: list[Document], why: dict[str, str]) -> None:
    if not troubled:
        return
    drawing.title(f"{counted(len(troubled), 'pod')} not ready: actorlet pod NAME says more")
    for each in sorted(troubled, key=pod_name)[:MOST_NAMED]:
        cause = why.get(text(each, "metadata", "uid"), "")
        said = f"{pod_name(each)}: {state(each)}{cause and f': {cause}'}"
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
    pods: list[Document],
    manifests: list[Document],
    why: dict[str, str],
) -> dict[str, Any]:
    return {
        "server": name,
        "ready": ready.is_well,
        "healthy": healthy.is_well,
        "readyz": [asdict(each) for each in ready.checks],
        "healthz": [asdict(each) for each in healthy.checks],
        "pods": len(pods),
        "troubledPods": [
            {
                "pod": pod_name(each),
                "state": state(each),
                "why": why.get(text(each, "metadata", "uid"), ""),
            }
            for each in pods
            if not is_well(each)
        ],
        "manifests": len(manifests),
        "troubledManifests": [each for each in manifests if is_troubled(each)],
    }
