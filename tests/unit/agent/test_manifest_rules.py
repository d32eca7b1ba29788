"""The rules by which manifests are decoded, with flags and without any."""

from __future__ import annotations

import subprocess
import sys
from socket import gethostname

import pytest

from agent.validation import manifest_rules, usual_rules
from messages.pods import FILE
from settings.command_line import parse
from settings.errors import UsageError
from settings.load import load_settings
from tests.support.project.checkout import ROOT


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
