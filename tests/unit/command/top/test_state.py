"""Whether what is shown is live, and the sentence that says since when it is not."""

from __future__ import annotations

from command.top.state import RESTART_TOLD, AgentLink

NOW = 1_000_000.0


def test_what_is_live_needs_no_sentence() -> None:
    connection = AgentLink(server="s")
    assert (connection.word(), connection.sentence(NOW)) == ("connecting", "")
    live = connection.live().answered(NOW)
    assert (live.word(), live.sentence(NOW)) == ("live", "")


def test_a_lost_stream_says_since_when_why_and_when_it_is_tried_again() -> None:
    lost = AgentLink(server="s").live().lost("it ended", NOW, 4.0).lost("refused", NOW + 4, 8.0)
    assert lost.word() == "not live"
    said = lost.sentence(NOW + 5)
    assert said.startswith("Not live since ")
    assert said.endswith(", changes show late; next try in 7s (r: now): refused")
    assert lost.lost_at == NOW
    assert lost.sentence(NOW + 60).endswith("; trying again: refused")
    assert lost.live().sentence(NOW + 60) == ""


def test_an_agent_that_never_answered_and_one_that_does_not_any_more_are_told_apart() -> None:
    never = AgentLink(server="s").refused("no agent answers at s", NOW)
    assert never.sentence(NOW).startswith(
        "Nothing is known yet; trying again: no agent answers at s"
    )
    gone = AgentLink(server="s").live().answered(NOW).refused("no agent answers at s", NOW + 1)
    assert gone.sentence(NOW + 2).startswith("This is as of ")
    assert gone.word() == "not live"
    assert gone.refused("still", NOW + 9).silent_at == NOW + 1
    assert gone.answered(NOW + 10).sentence(NOW + 10) == ""


def test_a_restart_is_told_for_a_while() -> None:
    again = AgentLink(server="s", is_live=True, restarted_at=NOW)
    assert again.sentence(NOW + 1).startswith("The agent was restarted; it answers again since ")
    assert again.sentence(NOW + RESTART_TOLD) == ""
