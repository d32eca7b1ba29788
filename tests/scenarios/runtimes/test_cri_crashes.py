"""Who speaks to the runtime crashes at any moment: the pods end as without the crash, nothing is doubled."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from tests.support.builders import make_pod
from tests.support.crash_matrix import Action, Matrix
from tests.support.cri.cri_stage import IMAGE
from tests.support.worlds.cri_containers import CriWorld

WEB = make_pod(
    "web", spec={"containers": [{"name": each, "image": IMAGE} for each in ("main", "beside")]}
)
ONCE = make_pod(
    "once", spec={"containers": [{"name": "job", "image": IMAGE}], "restartPolicy": "Never"}
)

STORIES: dict[str, tuple[Action[CriWorld], ...]] = {
    "pods start, and one ends": (
        partial(CriWorld.run, pod=WEB),
        partial(CriWorld.run, pod=ONCE),
    ),
    "a pod is stopped and forgotten": (
        partial(CriWorld.run, pod=WEB),
        partial(CriWorld.stop, pod=WEB),
        partial(CriWorld.forget, pod=WEB),
    ),
    "the connection is lost while a pod starts": (
        partial(CriWorld.run, pod=WEB),
        CriWorld.lose_connection,
        partial(CriWorld.run, pod=ONCE),
    ),
}


@pytest.mark.parametrize("story", STORIES)
def test_the_end_is_as_without_the_crash(story: str, tmp_path: Path) -> None:
    matrix = Matrix(CriWorld, tmp_path, STORIES[story])
    matrix.run(seeds=range(1), every=60, every_message=4)
    assert matrix.differences == []
    assert matrix.reached > 10
