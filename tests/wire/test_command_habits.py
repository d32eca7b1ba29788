"""What people type who know kubectl, and how they choose colours."""

from __future__ import annotations

import pytest

from command.main import main
from tests.support.command.agents import answering, real, says

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def no_wish_for_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing but the line say it, also once the test is over."""
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.setenv(name, "x")
        monkeypatch.delenv(name)
    monkeypatch.setenv("COLUMNS", "80")


@pytest.mark.parametrize(
    "line", ["pods -A", "pods --all-namespaces", "pods -n kube-system -A", "pods -A -n kube-system"]
)
def test_all_namespaces_are_those_that_are_shown_anyway(line: str, capsys: Capture) -> None:
    with answering(says(real())) as server:
        assert main(["--server", server, "pods"]) == 0
        told = capsys.readouterr().out
        assert main(["--server", server, *line.split()]) == 0
        assert capsys.readouterr().out == told
        assert main(["--server", server, "objects", "-A"]) == 0


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("get pods", "there is no get here: actorlet pods"),
        ("get pods -A", "there is no get here: actorlet pods"),
        ("get", "there is no get here: actorlet pods, objects, sources or events"),
        ("describe pod web", "there is no describe here: actorlet pod NAME"),
        ("describe node", "there is no describe here: actorlet status"),
        ("pods -w", "actorlet top is live, and actorlet events -f tells what happens"),
        ("pods --watch", "actorlet top is live, and actorlet events -f tells what happens"),
        ("exec -it web -- sh", "exec has no terminal and no input: leave -i and -t out"),
        ("exec web -i -- sh", "exec has no terminal and no input: leave -i and -t out"),
        ("nonsense", "No such command 'nonsense'"),
    ],
)
def test_a_word_of_kubectl_is_told_with_the_one_that_there_is(
    line: str, said: str, capsys: Capture
) -> None:
    assert main(line.split()) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("actorlet: ")
    assert f"{said} (--help says more)\n" in told.err


@pytest.mark.parametrize(
    ("line", "same"),
    [("help", "--help"), ("help pods", "pods --help"), ("version", "--version")],
)
def test_help_and_version_are_words_too(line: str, same: str, capsys: Capture) -> None:
    assert main(line.split()) == 0
    told = capsys.readouterr().out
    assert main(same.split()) == 0
    assert capsys.readouterr().out == told
    assert told


def test_help_for_a_command_that_there_is_not_is_wrong_usage(capsys: Capture) -> None:
    assert main(["help", "nonsense"]) == 2
    assert "No such command 'nonsense'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "has_colours"),
    [
        ("pods", False),
        ("pods --color", True),
        ("--color pods", True),
        ("--color pods --no-color", False),
        ("--no-color pods --color", True),
        ("status --color", True),
    ],
)
def test_colours_are_chosen_before_or_behind_the_subcommand(
    line: str, capsys: Capture, *, has_colours: bool
) -> None:
    with answering(says(real())) as server:
        assert main(["--server", server, *line.split()]) == 0
    assert ("\x1b[" in capsys.readouterr().out) == has_colours


def test_what_the_line_says_of_colours_wins_over_the_environment(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with answering(says(real())) as server:
        monkeypatch.setenv("NO_COLOR", "1")
        assert main(["--server", server, "pods", "--color"]) == 0
        assert "\x1b[" in capsys.readouterr().out
        monkeypatch.setenv("FORCE_COLOR", "1")
        assert main(["--server", server, "pods", "--no-color"]) == 0
        assert "\x1b[" not in capsys.readouterr().out
