"""Verdicts on manifests without an agent, and the rules by which manifests are decoded."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from socket import gethostname

import pytest

from agent.validation import manifest_rules, usual_rules, validate
from manifests.pod_manifest import ManifestRules
from messages.pods import FILE
from settings.command_line import parse
from settings.errors import StartError, UsageError
from settings.load import load_settings
from tests.support.agent.process import manifest
from tests.support.project.checkout import ROOT

RULES = ManifestRules(node_name="n", source=FILE)


def told(path: Path, capsys: pytest.CaptureFixture[str], rules: ManifestRules = RULES) -> list[str]:
    """Return the lines on ``path``, with names of files in place of paths, and the exit code."""
    code = validate(path, rules, "text")
    return [*capsys.readouterr().out.replace(f"{path}/", "").splitlines(), f"code {code}"]


def test_manifests_that_are_served_are_code_0(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tmp_path.joinpath("web.yaml").write_text(manifest("web"))
    tmp_path.joinpath("db.yaml").write_text(manifest("db") + "colour: red\n")
    tmp_path.joinpath("db.yaml~").write_text("")
    assert told(tmp_path, capsys) == [
        "db.yaml: accepted (default/db-n)",
        "db.yaml: warning: colour (line 7): unknown field",
        "db.yaml~: ignored: what an editor or a patch leaves behind",
        "web.yaml: accepted (default/web-n)",
        "3 manifests: 2 accepted, 1 ignored",
        "code 0",
    ]


def test_a_manifest_that_is_refused_is_code_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tmp_path.joinpath("a.yaml").write_text("apiVersion: v1\nkind: Secret\n")
    tmp_path.joinpath("b.yaml").write_text("{")
    first, second, *rest = told(tmp_path, capsys)
    assert first.startswith('a.yaml: rejected: kind (line 2): must be Pod, not "Secret"; ')
    assert "--local-objects-dir" in first
    assert second.startswith("b.yaml: rejected: line 1: not JSON")
    assert rest == ["2 manifests: 2 rejected", "code 1"]


def test_a_manifest_that_another_one_hides_is_code_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a.yaml", "b.yaml"):
        tmp_path.joinpath(name).write_text(manifest("web"))
    assert told(tmp_path, capsys) == [
        "a.yaml: shadowed (default/web-n): b.yaml has the name default/web-n and comes later in name order",
        "b.yaml: accepted (default/web-n)",
        "2 manifests: 1 accepted, 1 shadowed",
        "code 1",
    ]


def test_who_is_strict_refuses_unknown_fields(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tmp_path.joinpath("web.yaml").write_text(manifest("web") + "colour: red\n")
    rules = ManifestRules(node_name="n", source=FILE, strict=True)
    assert told(tmp_path, capsys, rules)[-1] == "code 1"


def test_a_single_file_is_told_whatever_its_name_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / ".web"
    path.write_text(manifest("web"))
    assert validate(path, RULES, "text") == 0
    assert capsys.readouterr().out == f"{path}: accepted (default/web-n)\n1 manifest: 1 accepted\n"


def test_an_empty_directory_has_nothing_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert told(tmp_path, capsys) == ["0 manifests", "code 0"]


def test_json_has_the_words_of_the_endpoint(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tmp_path.joinpath("web.yaml").write_text("kind: Pod")
    assert validate(tmp_path, RULES, "json") == 1
    assert json.loads(capsys.readouterr().out) == {
        "valid": False,
        "manifests": [
            {
                "path": f"{tmp_path}/web.yaml",
                "verdict": "rejected",
                "reason": "apiVersion (line 1): must be v1",
                "warnings": [],
                "pod": "",
                "uid": None,
            }
        ],
    }


def test_the_name_of_a_file_writes_no_line_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tmp_path.joinpath("a\n\x1b\x9b.yaml").write_text("")
    assert told(tmp_path, capsys)[0] == r"a\n\x1b\x9b.yaml: rejected: there is no document"


@pytest.mark.parametrize(
    ("path", "said"),
    [("/nowhere", "/nowhere does not exist"), ("/dev/null", "/dev/null is a device, neither")],
)
def test_what_cannot_be_listed_is_a_sentence(path: str, said: str) -> None:
    with pytest.raises(StartError) as caught:
        validate(Path(path), RULES, "text")
    assert str(caught.value).startswith(said)
    assert caught.value.exit_code == 1


def test_an_empty_path_does_not_start_an_agent() -> None:
    with pytest.raises(UsageError, match="'--validate': should be a path"):
        parse(["--validate", ""])


def test_how_to_tell_verdicts_needs_somebody_who_asks_for_them() -> None:
    with pytest.raises(UsageError, match="--output has an effect only with --validate"):
        load_settings(parse(["--output=json"]))


def test_without_flags_the_rules_are_those_of_the_settings() -> None:
    settings = load_settings(parse(()))
    assert usual_rules(gethostname(), FILE) == manifest_rules(settings, FILE)


def test_a_host_name_that_no_node_can_have_is_wrong_usage_in_both_ways() -> None:
    with pytest.raises(UsageError):
        usual_rules("not a name", FILE)


def test_verdicts_need_neither_settings_nor_actors() -> None:
    code = (
        "import sys, agent.validation as rules; from messages.pods import FILE; "
        "rules.usual_rules('n', FILE); print(*{each.partition('.')[0] for each in sys.modules})"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert set(found.stdout.split()) & {"pydantic", "kernel", "structlog", "aiohttp"} == set()
