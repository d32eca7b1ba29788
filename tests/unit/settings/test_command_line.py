"""The command line as people type it."""

from __future__ import annotations

import pytest

from settings.command_line import COMMAND, parse
from settings.errors import UsageError
from settings.line import CommandLine
from settings.table import ROWS


def complaint(*arguments: str) -> str:
    """Return what ``arguments`` are refused with."""
    with pytest.raises(UsageError) as caught:
        parse(arguments)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_nothing_typed_is_nothing_said() -> None:
    assert parse([]) == CommandLine()


def test_a_value_may_stand_behind_its_flag() -> None:
    others = parse(["-v", "2", "--read-only-port", "1"]).others
    assert others == {"logging.verbosity": 2, "readOnlyPort": 1}


def test_switches_are_written_as_go_writes_them() -> None:
    assert not parse(["--standalone=false"]).standalone
    assert parse(["--standalone=true", "--in-cluster=1"]).in_cluster
    assert parse(["--standalone", "--in-cluster"]).in_cluster
    assert parse(["--strict-manifests=f"]) == parse([])


def test_headers_gather_over_commas_and_repeats() -> None:
    line = parse(["--manifest-url-header=A:1, B : x:y", "--manifest-url-header", "A:2"])
    assert line.others == {"staticPodURLHeader": {"A": ["1", "2"], "B": ["x:y"]}}
    assert "x:y" not in repr(line)


def test_an_empty_flag_is_no_flag() -> None:
    assert parse(["--config=", "--root-dir=", "--kubeconfig=", "--hostname-override="]) == parse([])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--confg=x"], "No such option '--confg'. (Did you mean one of: '--config', "),
        (["-x"], "No such option '-x'"),
        (["pods"], "Got unexpected extra argument (pods)"),
        (["--config"], "Option '--config' requires an argument"),
    ],
)
def test_what_is_mistyped_gets_one_sentence(arguments: list[str], said: str) -> None:
    assert said in complaint(*arguments)
    assert complaint(*arguments).endswith("(--help lists the flags)")


@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_shows_every_flag_in_its_section(
    flag: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        parse([flag])
    shown = capsys.readouterr().out
    assert caught.value.code == 0
    assert [name for row in ROWS.values() for name in row.flags if name not in shown] == []
    assert shown.index("Where pods come from:") < shown.index("--pod-manifest-path")
    assert shown.index("--pod-manifest-path") < shown.index("Endpoints:")


def test_help_says_what_can_run_pods() -> None:
    assert "in containers, by a Python class of yours, or so that" in str(COMMAND.help)


def test_the_version_is_the_project_s(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        parse(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out == "actorlet 0.1.0\n"
