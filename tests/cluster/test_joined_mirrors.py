"""Mirror pods of static pods at a real API server, whatever people do to either.

One agent for all stories.
"""

from __future__ import annotations

import time

import pytest

from actors.mirrors.plan import CREATION_LIMIT
from messages.pods import (
    CONFIG_HASH,
    CONFIG_MIRROR,
    CONFIG_SEEN,
    CONFIG_SOURCE,
    CONTENT_DIGEST,
    JsonObject,
)
from tests.support.agent.joined_agent import NODE_NAME, JoinedAgent, Onlooker
from tests.support.agent.process import eventually

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(120)]


def content(pod: JsonObject) -> JsonObject:
    """Return what of a mirror is the static pod's, and no affair of the API server."""
    metadata = {key: pod["metadata"].get(key) for key in ("labels", "annotations")}
    return {"metadata": metadata, "spec": pod["spec"]}


def image(pod: JsonObject | None) -> str:
    return str(pod["spec"]["containers"][0]["image"]) if pod else ""


def delete_time_after_time(onlooker: Onlooker, name: str, times: int) -> None:
    """Delete a mirror by force as soon as it is there."""
    for _ in range(times):
        eventually(lambda: onlooker.pod(name))
        onlooker.admin.remove("pods", "default", name)


def test_a_mirror_says_what_it_shows_and_whose_it_is(
    shared: JoinedAgent, onlooker: Onlooker
) -> None:
    shared.serve("web", labels="{app: shop}", annotations="{team: blue}")
    mirror = eventually(lambda: onlooker.pod("web-n1"))
    (static,) = shared.documents()
    uid = static["metadata"]["uid"]
    seen = static["metadata"]["annotations"][CONFIG_SEEN]
    digest = static["metadata"]["annotations"][CONTENT_DIGEST]
    assert mirror["metadata"]["annotations"] == {
        "team": "blue",
        CONFIG_SOURCE: "file",
        CONFIG_SEEN: seen,
        CONFIG_HASH: uid,
        CONFIG_MIRROR: uid,
        CONTENT_DIGEST: digest,
    }
    assert mirror["metadata"]["labels"] == {"app": "shop"}
    node = onlooker.admin.get("nodes", NODE_NAME)
    assert mirror["metadata"]["ownerReferences"] == [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "name": "n1",
            "uid": node["metadata"]["uid"],
            "controller": True,
        }
    ]
    assert mirror["spec"]["nodeName"] == "n1"
    assert mirror["metadata"]["uid"] != uid


@pytest.mark.parametrize("grace", [None, 30, 0], ids=["as kubectl does", "gracefully", "by force"])
def test_a_mirror_that_somebody_deletes_is_back_at_once(
    shared: JoinedAgent, onlooker: Onlooker, grace: int | None
) -> None:
    shared.serve("web")
    mirror = eventually(lambda: onlooker.pod("web-n1"))
    static = shared.pods()
    onlooker.admin.remove("pods", "default", "web-n1", grace=grace)

    def is_back() -> JsonObject | None:
        found = onlooker.pod("web-n1")
        is_new = found and found["metadata"]["uid"] != mirror["metadata"]["uid"]
        return found if is_new else None

    began = time.monotonic()
    # The next list that would show it comes with the next watch, in five minutes at the earliest.
    back = eventually(is_back)
    print(f"back after {time.monotonic() - began:.3f} s")  # noqa: T201  # for people
    assert content(back) == content(mirror)
    assert shared.pods() == static


@pytest.mark.parametrize("fixed", [{}, {"uid": "0a1b2c3d"}], ids=["digest", "fixed"])
def test_an_edited_manifest_has_another_mirror_whatever_its_uid(
    shared: JoinedAgent, onlooker: Onlooker, fixed: dict[str, str]
) -> None:
    shared.serve("web", **fixed)
    before = eventually(onlooker.mirrors)
    shared.serve("web", image="registry.example/web:2", **fixed)
    eventually(lambda: image(onlooker.pod("web-n1")) == "registry.example/web:2")
    after = onlooker.mirrors()
    assert [*after] == ["web-n1"]
    assert after != before
    (static,) = shared.documents()
    mirror = onlooker.admin.get("pods", "default", "web-n1")
    assert mirror["metadata"]["annotations"][CONFIG_MIRROR] == static["metadata"]["uid"]


def test_the_last_of_many_edits_is_shown_soon_and_the_mirror_stays_meanwhile(
    shared: JoinedAgent, onlooker: Onlooker
) -> None:
    shared.serve("web")
    eventually(lambda: onlooker.pod("web-n1"))
    version = absences = 0
    ends = time.monotonic() + 3.0
    while time.monotonic() < ends:
        version += 1
        shared.serve("web", image=f"registry.example/web:edit-{version}")
        absences += onlooker.pod("web-n1") is None
    last = f"registry.example/web:edit-{version}"
    eventually(lambda: image(onlooker.pod("web-n1")) == last)
    # It may be seen to be absent between the two requests that replace it, and not for seconds.
    assert absences < version / 2
    eventually(lambda: not shared.warnings("web"))


def test_a_removed_manifest_takes_its_mirror_along(shared: JoinedAgent, onlooker: Onlooker) -> None:
    shared.serve("web")
    shared.serve("db")
    eventually(lambda: {*onlooker.mirrors()} == {"web-n1", "db-n1"})
    shared.withdraw("web")
    eventually(lambda: {*onlooker.mirrors()} == {"db-n1"})


def test_a_manifest_that_moves_to_another_namespace_takes_its_mirror_along(
    shared: JoinedAgent, onlooker: Onlooker
) -> None:
    shared.serve("web")
    eventually(lambda: onlooker.pod("web-n1"))
    shared.serve("web", namespace="kube-public")
    eventually(lambda: onlooker.pod("web-n1", "kube-public") and not onlooker.pod("web-n1"))


def test_what_users_write_on_a_mirror_stays_theirs(shared: JoinedAgent, onlooker: Onlooker) -> None:
    shared.serve("web")
    before = eventually(onlooker.mirrors)
    theirs = {"labels": {"checked": "yes"}, "annotations": {"by": "ops"}}
    onlooker.admin.change("pods", "default", "web-n1", metadata=theirs)

    # The agent has seen it once it serves what came later.
    shared.serve("db")
    eventually(lambda: onlooker.pod("db-n1"))
    eventually(lambda: shared.metric("actorlet_mirrors") == {"wanted": 2.0, "present": 2.0})
    mirror = onlooker.admin.get("pods", "default", "web-n1")
    assert mirror["metadata"]["uid"] == before["web-n1"]
    assert mirror["metadata"]["labels"]["checked"] == "yes"
    assert mirror["metadata"]["annotations"]["by"] == "ops"


def test_a_mirror_that_is_deleted_again_and_again_is_no_race(
    shared: JoinedAgent, onlooker: Onlooker
) -> None:
    shared.serve("web")
    delete_time_after_time(onlooker, "web-n1", CREATION_LIMIT)
    # It has to wait for its next mirror, and keeps nobody else waiting.
    shared.serve("db")
    eventually(lambda: onlooker.pod("db-n1"))
    assert [*onlooker.mirrors()] == ["db-n1"]
    assert {*shared.pods()} == {"web-n1", "db-n1"}
