"""Events are posted with the reasons that are declared, and with no others."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache

from messages.event_reasons import ANY_RESOURCE, EVENT_REASONS
from tests.support.project.checkout import ROOT

ROOMS = ("actors", "agent", "messages", "runtimes")
REGISTRY = "messages/event_reasons.py"
CAMEL_CASE = re.compile(r"[A-Z][a-z]*[A-Z]?[A-Za-z]*")
BY_KEYWORD = {"PostEvent", "PodFailure", "Rejected"}
BY_PLACE = {
    "EventText": 1,
    "ConfigNotice": 0,
    "never_possible": 1,
    "_warn": 0,
    "predicate_failure": 0,
}
"""What is called with the reason of an event at a place of its arguments."""
ELSEWHERE = {
    "runtimes/provider/notices.py": ("_tell", 2),
    "runtimes/cri/images/pulling.py": ("_say", 2),
    "runtimes/cri/images/collecting.py": ("_say", 0),
    "runtimes/provider/examining.py": ("warning", 1),
}
POSTERS = {
    "actors/mirrors/verdicts.py",
    "actors/objects/notices.py",
    "actors/pods/worker/news.py",
    "actors/pods/rollout_keeper.py",
    "actors/pods/status_writer.py",
    "actors/probes/prober.py",
    "actors/cluster/service_keeper.py",
    "actors/volumes/events.py",
    "agent/containers.py",
    "runtimes/containers/pod_reporter.py",
    "runtimes/cri/images/collecting.py",
    "runtimes/cri/images/pulling.py",
    "actors/probes/loop_owner.py",
    "runtimes/provider/notices.py",
}
"""Who makes events. What a new one is called with has to be found by this test, too."""


@cache
def modules() -> dict[str, ast.Module]:
    return {
        str(path.relative_to(ROOT)): ast.parse(path.read_text())
        for room in ROOMS
        for path in (ROOT / room).rglob("*.py")
        if path != ROOT / REGISTRY
    }


def constants(module: ast.Module) -> dict[str, ast.expr]:
    """Return what the names of a module stand for."""
    found: dict[str, ast.expr] = {}
    for node in module.body:
        match node:
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                found[name] = value
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                found[name] = value
            case _:
                pass
    return found


def calls(path: str, module: ast.Module) -> Iterator[ast.expr]:
    """Yield what stands for the reason of an event in each call that has one."""
    for node in ast.walk(module):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        if name in BY_KEYWORD:
            yield from (each.value for each in node.keywords if each.arg == "reason")
        place = BY_PLACE.get(name)
        if path in ELSEWHERE and ELSEWHERE[path][0] == name:
            place = ELSEWHERE[path][1]
        if place is not None and len(node.args) > place:
            yield node.args[place]


def words(expression: ast.expr, known: dict[str, ast.expr]) -> Iterator[str]:
    """Yield the words that an expression may be. What a name stands for is looked at once."""
    for node in ast.walk(expression):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.Name) and node.id in known:
            yield from words(known[node.id], {})


def posted() -> dict[str, str]:
    """Return the reasons with which events are posted, each with a place where that is so."""
    everywhere = {k: v for each in modules().values() for k, v in constants(each).items()}
    return {
        word: path
        for path, module in modules().items()
        for expression in calls(path, module)
        for word in words(expression, everywhere | constants(module))
        if CAMEL_CASE.fullmatch(word)
    }


def is_declared(reason: str) -> bool:
    return reason in {each.name for each in EVENT_REASONS} or reason.startswith(ANY_RESOURCE)


def test_every_reason_of_an_event_is_declared() -> None:
    found = posted()
    assert len(found) > 40
    assert {word: path for word, path in found.items() if not is_declared(word)} == {}


def test_every_declared_reason_stands_in_the_code() -> None:
    """Some of them come from a table or a field, so anywhere will do."""
    texts = {
        node.value
        for module in modules().values()
        for node in ast.walk(module)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    declared = {each.name.removesuffix("*") for each in EVENT_REASONS}
    assert declared - texts == {"FailedPreStopHook"}  # made of two words


def test_whoever_makes_events_is_known_to_this_test() -> None:
    found = {
        path
        for path, module in modules().items()
        for node in ast.walk(module)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "PostEvent"
    }
    assert found == POSTERS


def test_no_reason_is_declared_twice() -> None:
    names = [each.name for each in EVENT_REASONS]
    assert len(names) == len(set(names))
