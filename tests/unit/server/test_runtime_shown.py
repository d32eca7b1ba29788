"""What people are shown of what runs the pods."""

from __future__ import annotations

from dataclasses import replace

import pytest

from messages.pod_runtime import RuntimeDescribed
from server.health import runtime_shown
from server.questions import Unanswered
from tools.reference.sample_state import RUNNING

CLASS = RuntimeDescribed(name="shop.node:Node", version="3")
assert RUNNING.containers is not None
WELL = replace(
    RUNNING.containers, name="containerd", version="1.6.20", endpoint="/run/c.sock", trouble=""
)
SLOW = Unanswered(name="runtime/containers", reason="did not answer within 2 s")
NONE = "there is no socket at /run/c.sock"


def test_a_hollow_runtime_says_that_nothing_really_runs() -> None:
    shown = runtime_shown("hollow", RuntimeDescribed(name="hollow", version="1"), None)
    assert shown == {"kind": "hollow", "text": "hollow: nothing really runs", "ok": True}


@pytest.mark.parametrize(
    ("containers", "text", "is_ok"),
    [
        (WELL, "containerd 1.6.20 at /run/c.sock", True),
        (replace(WELL, trouble="it hangs"), "containerd 1.6.20 at /run/c.sock: it hangs", False),
        (replace(WELL, name="", version="", endpoint="", trouble=NONE), NONE, False),
        (replace(WELL, name="", version="", trouble=NONE), NONE, False),
        (SLOW, "did not answer within 2 s", False),
    ],
)
def test_a_container_runtime_says_which_one_it_is_and_where_or_what_is_wrong(
    containers: object, text: str, is_ok: object
) -> None:
    shown = runtime_shown("cri", RuntimeDescribed(name=""), containers)  # type: ignore[arg-type]
    assert shown == {"kind": "cri", "text": text, "ok": is_ok}


def test_a_class_says_its_name() -> None:
    assert runtime_shown("provider", CLASS, None) == {
        "kind": "provider",
        "text": "shop.node:Node 3",
        "ok": True,
    }
    troubled = runtime_shown("provider", replace(CLASS, trouble="it raised"), None)
    assert troubled == {"kind": "provider", "text": "shop.node:Node 3: it raised", "ok": False}


def test_nothing_is_shown_where_nothing_runs_pods() -> None:
    assert runtime_shown("", None, None) is None
