"""What the annotation ``actorlet/on-object-change`` says."""

from __future__ import annotations

import signal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manifests.change_hooks import MAX_SPLAY, ChangeHook, ChangeHookError, change_hook
from manifests.times import format_duration
from messages.objects import ChangeAction
from messages.units import Seconds

CANARY = "c4n4ry"


def wrong(value: str) -> str:
    """Return what is said of an annotation; fails the test when it is taken."""
    with pytest.raises(ChangeHookError) as caught:
        change_hook(value)
    return str(caught.value)


@pytest.mark.parametrize("value", ["", " ", "none", " none\n", "none,splay=30s", "none , splay=0"])
def test_a_pod_may_want_nothing(value: str) -> None:
    assert change_hook(value) is None


@pytest.mark.parametrize(
    ("value", "splay"),
    [
        ("restart", 0.0),
        ("restart\n", 0.0),
        ("restart,splay=30s", 30.0),
        (" restart , splay = 30s ", 30.0),
        ("restart,splay=1m30s", 90.0),
        ("restart,splay=1.5s", 1.5),
        ("restart,splay=0", 0.0),
        ("restart,splay=60m", 3600.0),
    ],
)
def test_a_pod_may_want_a_restart(value: str, splay: float) -> None:
    assert change_hook(value) == ChangeHook(ChangeAction.RESTART, "", Seconds(splay))


@pytest.mark.parametrize(
    ("value", "name", "splay"),
    [
        ("signal:SIGHUP", "SIGHUP", 0.0),
        ("signal:SIGUSR2,splay=300ms", "SIGUSR2", 0.3),
        ("signal: SIGTERM ,splay=1h", "SIGTERM", 3600.0),
    ],
)
def test_a_pod_may_want_a_signal(value: str, name: str, splay: float) -> None:
    assert change_hook(value) == ChangeHook(ChangeAction.SIGNAL, name, Seconds(splay))


@pytest.mark.parametrize("name", sorted({*signal.Signals.__members__} - {"SIGKILL", "SIGSTOP"}))
def test_every_signal_that_can_be_handled_has_its_name(name: str) -> None:
    hook = change_hook(f"signal:{name}")
    assert hook is not None
    assert hook.signal == name


FORMS = "should be none, restart or signal:SIGHUP, and may end in ,splay=30s"


@pytest.mark.parametrize(
    "value",
    [
        CANARY,
        "Restart",
        "NONE",
        "restart:SIGHUP",
        "restart:",
        "none:",
        "signal",
        "SIGHUP",
        "reload:SIGHUP",
        "restart;splay=30s",
        "restart,",
        "restart,30s",
        "restart,delay=30s",
        "restart,Splay=30s",
        f"restart,{CANARY}=30s",
        ",",
        ",splay=30s",
        "none,",
        f"none,{CANARY}",
    ],
)
def test_what_has_none_of_the_forms_is_told_them(value: str) -> None:
    assert wrong(value) == FORMS


@pytest.mark.parametrize(
    "name", ["", "HUP", "sighup", "SIG", "1", "SIG_IGN", "SIG_DFL", "SIGHUP SIGINT", CANARY]
)
def test_what_is_no_signal_is_told(name: str) -> None:
    assert (
        wrong(f"signal:{name}") == "should name a signal as POSIX does, such as SIGHUP or SIGUSR1"
    )


@pytest.mark.parametrize("name", ["SIGKILL", "SIGSTOP"])
def test_signals_that_no_program_can_handle_are_refused(name: str) -> None:
    assert wrong(f"signal:{name},splay=1s") == (
        f"should not name {name}, which no program can handle: say restart instead"
    )


@pytest.mark.parametrize(
    "span", ["", "30", "soon", "30 s", "1d", "30s,splay=30s", "1s,2s", "=30s", CANARY]
)
@pytest.mark.parametrize("action", ["restart", "none", "signal:SIGHUP"])
def test_a_splay_that_is_no_duration_is_told(action: str, span: str) -> None:
    assert wrong(f"{action},splay={span}") == (
        "has a splay that should be a duration such as 20s, 1m30s or 300ms"
    )


@pytest.mark.parametrize("span", ["-1s", "1h1ns", "61m", "3600.1s", "2562047h"])
def test_a_splay_is_at_most_an_hour(span: str) -> None:
    assert wrong(f"restart,splay={span}") == "has a splay that should be between 0s and 1h"


@given(
    st.sampled_from(["restart", *(f"signal:{name}" for name in ("SIGHUP", "SIGUSR1", "SIGRTMIN"))]),
    st.integers(0, int(MAX_SPLAY) * 1000),
)
def test_what_was_written_is_read(action: str, milliseconds: int) -> None:
    splay = Seconds(milliseconds / 1000)
    hook = change_hook(f"{action},splay={format_duration(splay)}")
    assert hook is not None
    assert hook.splay == pytest.approx(splay)


def outcome(value: str) -> object:
    try:
        return change_hook(value)
    except ChangeHookError as error:
        return error


@given(st.text("restart,signal:SIGHUP=none 0123456789smh.-", max_size=30) | st.text())
def test_whatever_the_annotation_is_there_is_an_answer(value: str) -> None:
    assert isinstance(outcome(value), ChangeHook | ChangeHookError | None)
