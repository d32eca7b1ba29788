"""The pages that are made from the code say what the code does now."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from command.main import SUBCOMMANDS
from tests.support.project.checkout import ROOT
from tools.reference.endpoints import ASKED, served_routes
from tools.reference.events import STREAM
from tools.reference.pages import PAGES
from tools.reference.subcommands import ENVIRONMENT


@pytest.mark.parametrize("path", PAGES)
def test_a_page_of_the_reference_is_current(path: str) -> None:
    assert (ROOT / path).read_text() == PAGES[path](), "run `make reference`"


def test_no_other_page_is_among_them() -> None:
    folder = ROOT / "docs" / "reference"
    assert {str(each.relative_to(ROOT)) for each in folder.iterdir()} <= set(PAGES)


def test_every_parameter_that_a_server_reads_is_in_the_reference_and_no_other_one_is() -> None:
    server = ROOT / "server"
    own_page = {*(server / "node").rglob("*.py"), *(server / "streams").rglob("*.py")}
    code = "".join(path.read_text() for path in {*server.rglob("*.py")} - own_page)
    read = re.findall(r"""query\.get(?:all)?\("(\w+)"|"(\w+)" in request\.query""", code)
    read += re.findall(
        r"""(?:_is_set|_whole_number|_moment|is_told)\((query|request\.query), "(\w+)"\)""", code
    )
    names = {second or first for first, second in read}
    asked = {name for each in ASKED.values() for name in each.parameters}
    assert names == asked | {"pretty"}


def test_every_parameter_that_the_tls_port_reads_is_on_its_page() -> None:
    code = "".join(
        (ROOT / "server" / each).read_text() for each in ("node/logs.py", "streams/upgrades.py")
    )
    page = (ROOT / "docs" / "server.md").read_text()
    read = set(re.findall(r"""(?:query(?:\.get\(|, |\[)|asks\()"(\w+)\"""", code))
    assert len(read) > 10
    assert {name for name in read if f"`{name}`" not in page} == set()


def test_what_is_said_of_a_path_is_said_of_one_that_is_served() -> None:
    served = [route for routes in served_routes().values() for route in routes]
    assert set(ASKED) <= {route.path for route in served}
    assert [route.path for route in served if not route.says] == []


def test_every_metric_that_is_named_in_the_server_is_in_the_reference() -> None:
    code = "".join(path.read_text() for path in (ROOT / "server").glob("*.py"))
    prefixes = "kubelet|actorlet|prober|volume_manager|rest_client"
    named = set(re.findall(rf'"((?:{prefixes})_[a-z_]+)"', code))
    page = PAGES["docs/reference/metrics.md"]()
    assert len(named) > 60
    assert {name for name in named if f"`{name}" not in page} == set()


def test_every_event_of_the_stream_is_in_the_reference_and_no_other_one_is() -> None:
    code = "".join(path.read_text() for path in (ROOT / "actors" / "events").glob("*.py"))
    found = re.findall(r'(?:server_sent\(\s*|return )"(\w+)",', code)
    assert set(found) == set(STREAM)


@pytest.mark.skipif(not shutil.which("groff"), reason="there is no groff")
def test_the_man_page_is_read_without_a_warning_and_its_lines_fit_a_terminal() -> None:
    line = ["groff", "-man", "-Tascii", "-ww", "-rLL=80n", "-P-cbou", "docs/man/actorlet.1"]
    read = subprocess.run(line, capture_output=True, text=True, check=True, cwd=ROOT)
    assert read.stderr == ""
    assert [each for each in read.stdout.splitlines() if len(each) > 80] == []
    assert set(re.findall(r"^   actorlet ([a-z-]+)", read.stdout, re.MULTILINE)) == set(SUBCOMMANDS)
    titles = {"NAME", "SYNOPSIS", "DESCRIPTION", "EXIT STATUS", "ENVIRONMENT", "FILES", "EXAMPLES"}
    assert titles <= set(read.stdout.splitlines())


@pytest.mark.skipif(not shutil.which("mandoc"), reason="there is no mandoc")
def test_the_man_page_has_the_form_that_man_pages_have() -> None:
    line = ["mandoc", "-Tlint", "docs/man/actorlet.1"]
    read = subprocess.run(line, capture_output=True, text=True, check=False, cwd=ROOT)
    assert (read.returncode, read.stdout) == (0, "")


def test_every_variable_that_an_option_reads_is_in_the_reference() -> None:
    code = "".join(path.read_text() for path in (ROOT / "command").rglob("*.py"))
    read = re.findall(r'envvar="(\w+)"|environ(?:ment)?\.get\("(\w+)"', code)
    assert {first or second for first, second in read} == set(ENVIRONMENT)
