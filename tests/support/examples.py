"""The profiles of hypothesis: how many examples a test has, of how many steps. No test says that for itself.

Where the profile has fixed examples, each test runs again, with new ones. Fixed examples find what a
change breaks, in each run the same. New ones find what nobody thought of. A failure says how to have it
again: hypothesis prints the blob of its example, and tries it first in the next run here. Who mends it
commits it as an ``@example``.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings
from hypothesis.database import DirectoryBasedExampleDatabase

from tools.flakes import state_folder

NEW: Final = "new"
"""The profile of the examples that nobody has seen."""


settings.register_profile(
    NEW,
    max_examples=40,
    stateful_step_count=25,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
    database=DirectoryBasedExampleDatabase(state_folder() / "examples"),
)
settings.register_profile(
    "ci", settings.get_profile(NEW), max_examples=40, derandomize=True, database=None
)
settings.register_profile("night", settings.get_profile(NEW), max_examples=1000)
settings.load_profile("ci" if os.environ.get("CI") == "true" else NEW)


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """Run a test of hypothesis again, with new examples, unless it has had such."""
    yield
    if (
        settings.default is not None
        and settings.default.derandomize
        and isinstance(item, pytest.Function)
        and is_hypothesis_test(item.obj)
        and not getattr(item, "_excinfo", None)  # where pytest keeps the failure of a state machine
    ):
        with _new_examples(item):
            item.runtest()


@contextmanager
def _new_examples(item: pytest.Function) -> Iterator[None]:
    """Let a test have new examples. A state machine has its settings in public, a function has not."""
    is_machine = hasattr(item.cls, "settings")
    holder: Any = item.cls if is_machine else getattr(item.obj, "__func__", item.obj)
    name = "settings" if is_machine else "_hypothesis_internal_use_settings"
    fixed, new = getattr(holder, name), settings.get_profile(NEW)
    setattr(
        holder,
        name,
        settings(
            fixed,
            derandomize=False,
            max_examples=new.max_examples,
            database=new.database,
        ),
    )
    try:
        yield
    finally:
        setattr(holder, name, fixed)
