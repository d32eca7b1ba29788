"""What the first lines of the screen say of the agent."""

from __future__ import annotations

import pytest

from command.tables import BAD, DOUBTFUL
from command.top.lines import agent_lines
from command.top.state import AgentLink, TopState


@pytest.mark.parametrize(
    ("runtime", "said", "tone"),
    [
        (
            {"kind": "hollow", "text": "hollow: nothing really runs", "ok": True},
            "runtime hollow: nothing really runs",
            DOUBTFUL,
        ),
        (
            {"kind": "cri", "text": "containerd 1.6.20 at /c.sock", "ok": True},
            "runtime containerd 1.6.20 at /c.sock",
            "",
        ),
        (
            {"kind": "cri", "text": "there is no socket at /c.sock", "ok": False},
            "runtime there is no socket at /c.sock",
            BAD,
        ),
    ],
)
def test_a_line_says_what_runs_the_pods_and_warns_of_hollow_ones(
    runtime: dict[str, object], said: str, tone: str
) -> None:
    state = TopState(connection=AgentLink(server="here"), agent={"node": "a", "runtime": runtime})
    (third,) = agent_lines(state)[2]
    assert (third.text, third.tone) == (said, tone)


def test_nothing_is_said_of_it_where_an_agent_of_an_earlier_version_does_not_tell_it() -> None:
    state = TopState(connection=AgentLink(server="here"), agent={"node": "a"})
    assert not any("runtime" in piece.text for line in agent_lines(state) for piece in line)
