"""What the answers of probes say, without what nobody may read. Pure."""

from __future__ import annotations

from typing import Final

from actors.probes.specs import GrpcAction
from actors.probes.watching import RunProbe
from manifests.handlers import ExecAction, HttpGetAction, TcpSocketAction
from messages.container_runtime import ContainerAnswer, ExecEnded, RuntimeFailure
from messages.probing import AnswersCounted, ProbeOutcome, ProbeResult

TEXT_LEN: Final = 10 * 1024
"""Characters of a command's output that anybody is shown."""
WITHHELD: Final = "what it answered is not shown, since it may have values of Secrets in it"
HIDDEN: Final = "[hidden]"


def in_public(outcome: ProbeOutcome, hidden: tuple[str, ...] | None) -> ProbeOutcome:
    """Return ``outcome`` as everybody may read it: without the values in ``hidden``.

    None means that nobody knows these values.
    """
    if not outcome.text or hidden == ():
        return outcome
    if hidden is None:
        return outcome._replace(text=WITHHELD)
    text = outcome.text
    for value in hidden:
        text = text.replace(value, HIDDEN)
    return outcome._replace(text=text)


def outcome_of_command(answer: ContainerAnswer | RuntimeFailure) -> ProbeOutcome:
    """Return what it means for a probe how its command ended (rule B10)."""
    match answer:
        case ExecEnded(exit_code=0, output=output):
            return ProbeOutcome(ProbeResult.SUCCESS, output[:TEXT_LEN])
        case ExecEnded(exit_code=code, output=output):
            text = output[:TEXT_LEN].strip()
            return ProbeOutcome(ProbeResult.FAILURE, text or f"the command exited with code {code}")
        case RuntimeFailure(message=message, reason="Timeout"):
            return ProbeOutcome(ProbeResult.FAILURE, message)
        case RuntimeFailure(message=message, is_away=is_away):
            return ProbeOutcome(ProbeResult.UNKNOWN, message, is_away)
        case _:
            return ProbeOutcome(ProbeResult.UNKNOWN, "the command could not be run")


def added(counted: AnswersCounted, before: AnswersCounted | None) -> AnswersCounted:
    """Return what was counted, with what was counted of the same probe before it rested."""
    if before is None:
        return counted
    answer, earlier = counted.answer, before.answer
    return AnswersCounted(
        answer._replace(
            successes=answer.successes + earlier.successes,
            failures=answer.failures + earlier.failures,
            unknowns=answer.unknowns + earlier.unknowns,
        ),
        tuple(map(sum, zip(counted.buckets, before.buckets, strict=True))),
        counted.seconds + before.seconds,
    )


def cannot_run(wish: RunProbe) -> str:
    """Return why a probe cannot be carried out where nobody runs commands; empty if it can."""
    match wish.spec.handler:
        case ExecAction():
            return "nobody runs commands in this container, so the probe counts as passed"
        case HttpGetAction(host="") | TcpSocketAction(host="") | GrpcAction() if not wish.target.ip:
            return "nobody tells the pod's address, so the probe counts as passed"
        case _:
            return ""
