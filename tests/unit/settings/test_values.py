"""Every setting by its values: what the agent has of those that are right, and what is said of wrong ones."""

from __future__ import annotations

from typing import Any

import pytest

from settings.agent import Settings, effective_configuration
from settings.cluster import ClusterSettings
from settings.command_line import parse
from settings.containers import ContainerSettings
from settings.errors import UsageError
from settings.line import CommandLine
from settings.resources import ResourceSettings
from settings.rows import Row, rows_of
from settings.runtime import HollowSettings, RuntimeSettings
from settings.server import ServerSettings
from settings.situation import Where
from settings.table import GROUPS, ROWS, of_flag
from tests.support.settings.corpus import (
    MISTYPED,
    NEED_EACH_OTHER,
    REFUSED,
    RIGHT,
    TYPED,
    WRONG,
)
from tests.support.settings.settled import NO_SOURCE, at_path, refusal, settled

NODES = {
    Where.ANYWHERE: ("--runtime=hollow",),
    Where.CLUSTER: ("--kubeconfig=k", "--runtime=m:C"),
    Where.CONTAINERS: ("--runtime=cri",),
    Where.HOLLOW: ("--runtime=hollow",),
}
"""Flags of a node that obeys what is obeyed there."""
NODES_OF_ROWS = {
    "--runtime": (),
    "--explain-takeover": NODES[Where.CONTAINERS],
    "port": NODES[Where.CLUSTER],
}
"""The same, for settings that are not for every node, though all know them."""
TAKES_ANYTHING = {
    "address",
    "staticPodPath",
    "nodeLeaseDurationSeconds",
    "configMapAndSecretChangeDetectionStrategy",
    "authentication.x509.clientCAFile",
    "authorization.mode",
}
"""What is right by its type is right."""


def node_of(row: Row) -> tuple[str, ...]:
    """Return the flags of a node that obeys the setting."""
    return NODES_OF_ROWS.get(row.name, NODES[row.where])


def row_of(flag: str) -> Row:
    row = of_flag(flag.partition("=")[0].replace("_", "-")[: 2 if flag[1] != "-" else None])
    assert row is not None
    return row


def value_in(settings: Settings, line: CommandLine, row: Row) -> Any:
    """Return the value of a row where the agent, or its start, reads it."""
    group, name = next(
        (group, name) for group in GROUPS for name, each in rows_of(group) if each is row
    )
    runtime = settings.runtime
    found: dict[Any, Any] = {
        CommandLine: line,
        Settings: settings,
        ResourceSettings: settings.resources,
        ClusterSettings: settings.cluster,
        RuntimeSettings: runtime,
        HollowSettings: runtime.hollow,
        ContainerSettings: runtime.containers,
        ServerSettings: settings.server,
    }
    return getattr(found[group], name)


@pytest.mark.parametrize(
    ("name", "given", "value"),
    [(name, *case) for name, cases in RIGHT.items() for case in cases],
    ids=str,
)
def test_a_field_is_obeyed_where_it_has_an_effect(name: str, given: Any, value: Any) -> None:
    row = ROWS[name]
    settings = settled(*node_of(row), **at_path(name, given))
    assert value_in(settings, CommandLine(), row) == value
    assert set(settings.warnings) <= {NO_SOURCE}


@pytest.mark.parametrize(("typed", "value"), TYPED)
def test_a_flag_is_obeyed_where_it_has_an_effect(typed: str, value: Any) -> None:
    row = row_of(typed)
    arguments = (*node_of(row), typed)
    settings = settled(*arguments)
    found = value_in(settings, parse(arguments), row)
    wanted = {**value, "actorlet/runtime": "hollow"} if row.name == "--node-labels" else value
    assert found == wanted
    assert set(settings.warnings) <= {NO_SOURCE}


@pytest.mark.parametrize(("name", "given", "sentence"), WRONG, ids=str)
def test_a_wrong_value_is_refused_in_one_sentence_that_says_what_to_mend(
    name: str, given: Any, sentence: str
) -> None:
    where = ROWS[name].where
    with pytest.raises(UsageError) as caught:
        settled(*NODES[where], **at_path(name, given))
    assert (str(caught.value), caught.value.at) == (sentence, name)
    if where is Where.CONTAINERS:
        assert settled("--runtime=hollow", **at_path(name, given)).runtime.kind == "hollow"
    else:
        assert refusal(lambda: settled("--runtime=m:C", **at_path(name, given))) == sentence


@pytest.mark.parametrize(("typed", "said"), MISTYPED)
def test_a_flag_that_cannot_be_read_is_named_without_its_value(typed: str, said: str) -> None:
    sentence = refusal(lambda: parse([typed]))
    names = " / ".join(f"'{each}'" for each in row_of(typed).flags)
    assert sentence == f"Invalid value for {names}: {said} (--help lists the flags)"
    assert "hunter2" not in sentence


@pytest.mark.parametrize(("typed", "said"), REFUSED)
def test_a_flag_whose_value_is_none_is_refused(typed: str, said: str) -> None:
    name = typed.partition("=")[0]
    with pytest.raises(UsageError) as caught:
        settled("--runtime=hollow", typed)
    assert str(caught.value).startswith(f"{name} {said}")
    assert caught.value.at == name


def test_every_setting_has_its_values_here() -> None:
    fields = {row.field for row in ROWS.values() if row.field}
    flags = {row.name for row in ROWS.values() if row.flag}
    checked = {row.field for row in ROWS.values() if row.field and row.settle is not None}
    assert RIGHT.keys() == fields
    assert {row_of(typed).name for typed, _ in TYPED} == flags - NEED_EACH_OTHER
    assert checked - {name for name, _, _ in WRONG} == TAKES_ANYTHING


@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if row.field])
def test_every_field_is_shown_as_it_is_in_effect_set_or_not(name: str) -> None:
    node = node_of(ROWS[name])
    for given, _ in ((None, None), *RIGHT[name]):
        shown = effective_configuration(settled(*node, **at_path(name, given)))["kubeletconfig"]
        for step in name.split("."):
            assert step in shown
            shown = shown[step]
