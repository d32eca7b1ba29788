"""What every path answers, word for word: others build on it."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.agent.process import eventually, manifest
from tests.support.agent.served import Served, served_agent
from tests.support.patience import PATIENCE

HEALTH_PATHS = ["/healthz", "/livez", "/healthz/ping", "/readyz", "/readyz/file"]
OTHER_PATHS = [
    *("/", "/pods", "/metrics", "/metrics/probes", "/configz", "/sourcez", "/actorz", "/watchz"),
    "/streamz",
    *(
        "/probez",
        "/ui",
        "/ui/",
        "/ui/agent",
        "/ui/pods",
        "/ui/events",
        "/ui/manifests",
        "/ui/objects",
        "/ui/actors",
    ),
]


def has_begun(agent: Served) -> bool:
    """Return whether both pods have a worker that has told their status."""
    items = agent.get("/pods").document["items"]
    return len(items) == 2 and all("startTime" in item["status"] for item in items)


@pytest.fixture(scope="module")
def manifests(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with a good manifest, one with a typo and one that is refused."""
    folder = tmp_path_factory.mktemp("manifests")
    (folder / "broken.yaml").write_text("kind: Pod\n")
    (folder / "odd.yaml").write_text(manifest("odd") + "  restartPollicy: Never\n")
    (folder / "web.yaml").write_text(manifest("web"))
    return folder


@pytest.fixture(scope="module")
def agent(manifests: Path) -> Iterator[Served]:
    """Return an agent that nobody may crash."""
    with served_agent(manifests) as agent:
        eventually(lambda: has_begun(agent))
        yield agent


@pytest.fixture(scope="module")
def chaotic(manifests: Path) -> Iterator[Served]:
    """Return an agent that may be crashed."""
    with served_agent(manifests, "--enable-chaos") as agent:
        eventually(lambda: has_begun(agent))
        yield agent


# Health.


@pytest.mark.parametrize("path", HEALTH_PATHS)
def test_health_is_one_word_on_both_ports(agent: Served, path: str) -> None:
    for_people = agent.get(path)
    for_probes = agent.get_health(path)
    assert (for_people.status, for_people.text) == (200, "ok")
    assert (for_probes.status, for_probes.text) == (200, "ok")
    assert for_probes.headers["Content-Type"] == "text/plain; charset=utf-8"


@pytest.mark.parametrize("path", OTHER_PATHS)
def test_the_health_port_serves_nothing_else(agent: Served, path: str) -> None:
    assert agent.get(path).status == 200
    answer = agent.get_health(path)
    assert answer.status == 404
    assert answer.json == {"error": "404: Not Found", "code": 404}


@pytest.mark.parametrize("name", ["healthz", "livez"])
def test_verbose_health_names_every_loop(agent: Served, name: str) -> None:
    answer = agent.get(f"/{name}?verbose")
    assert answer.status == 200
    assert answer.text.splitlines() == [
        "[+]pod-manager/answers ok",
        "[+]tree/answers ok",
        "[+]actorlet ok",
        "[+]pod-manager ok",
        "[+]event-recorder ok",
        "[+]objects ok",
        "[+]object-managers ok",
        "[+]secret-manager ok",
        "[+]configmap-manager ok",
        "[+]runtimes ok",
        "[+]runtime/containers ok",
        "[+]runtime ok",
        "[+]status-keeper ok",
        "[+]probe-keeper ok",
        "[+]probers ok",
        "[+]rollouts ok",
        "[+]pods ok",
        "[+]pod-keeper ok",
        "[+]sources ok",
        "[+]source/file ok",
        "[+]event-feed ok",
        "[+]http-server ok",
        "[+]pods/* ok: 2 running",
        f"{name} check passed",
    ]


@pytest.mark.parametrize("path", ["/readyz?verbose", "/readyz/file?verbose=1"])
def test_verbose_readiness_says_how_old_the_last_look_of_each_source_is(
    agent: Served, path: str
) -> None:
    first, last = agent.get(path).text.splitlines()
    start, _, rest = first.partition("seen ")
    assert start == "[+]source/file ok: "
    assert 0.0 <= float(rest.removesuffix(" s ago")) < 60.0
    assert last == "readyz check passed"


def test_the_readiness_of_a_source_that_is_not_there_is_not_found(agent: Served) -> None:
    answer = agent.get("/readyz/http")
    assert (answer.status, answer.json["error"]) == (404, "there is no such source")


# Documents.


@pytest.mark.parametrize(
    "path", ["/", "/pods", "/configz", "/sourcez", "/actorz", "/watchz", "/none"]
)
def test_documents_end_with_a_line_feed_and_name_no_version(agent: Served, path: str) -> None:
    answer = agent.get(path)
    assert answer.text.endswith("}\n")
    assert answer.text.count("\n") == 1
    assert answer.headers["Server"] == "actorlet"


@pytest.mark.parametrize("path", ["/", "/pods", "/configz", "/sourcez", "/watchz"])
@pytest.mark.parametrize("how", ["pretty", "pretty=true", "pretty=1"])
def test_documents_are_indented_for_who_asks_for_that(agent: Served, path: str, how: str) -> None:
    indented = agent.get(f"{path}?{how}")
    assert indented.text == json.dumps(indented.json, indent=2) + "\n"
    if path != "/sourcez":
        assert indented.json == agent.get(f"{path}?pretty=false").json


def test_even_an_answer_to_garbage_names_no_version(agent: Served) -> None:
    with socket.create_connection(("127.0.0.1", agent.port), timeout=PATIENCE) as confused:
        confused.sendall(b"GET\r\n\r\n")
        said = b"".join(iter(lambda: confused.recv(65536), b""))
    assert b"\r\nServer: actorlet\r\n" in said


def test_pods_is_a_pod_list_as_a_kubelets(agent: Served) -> None:
    document = agent.get("/pods").json
    items = document.pop("items")
    assert document == {"kind": "PodList", "apiVersion": "v1", "metadata": {}}
    assert sorted(pod["metadata"]["name"] for pod in items) == ["odd-node1", "web-node1"]
    assert {pod["spec"]["nodeName"] for pod in items} == {"node1"}


def test_sourcez_has_a_verdict_for_every_manifest(agent: Served, manifests: Path) -> None:
    (source,) = agent.get("/sourcez").json["sources"]
    broken, odd, web = source.pop("manifests")
    assert list(source) == ["name", "ready", "epoch", "lastListed", "error", "verdicts"]
    assert source["verdicts"] == {"accepted": 2, "rejected": 1}
    assert (source["name"], source["ready"], source["error"]) == ("file", True, "")
    assert source["epoch"] == [1, 1]
    assert source["lastListed"].endswith("Z")
    assert web == {
        "path": str(manifests / "web.yaml"),
        "verdict": "accepted",
        "reason": "",
        "warnings": [],
        "pod": "default/web-node1",
        "uid": web["uid"],
    }
    assert len(web["uid"]) == 32
    assert (odd["verdict"], len(odd["warnings"])) == ("accepted", 1)
    assert "restartPollicy" in odd["warnings"][0]
    assert (broken["verdict"], broken["pod"], broken["uid"]) == ("rejected", "", None)
    assert broken["reason"]


def test_actorz_is_the_tree_parents_first(agent: Served) -> None:
    tree = agent.get("/actorz").json["actors"]
    workers = [actor for actor in tree if actor["parent"] == "pods"]
    assert {actor["type"] for actor in workers} == {"PodWorker"}
    others = [actor for actor in tree if actor not in workers]
    assert [(actor["parent"], actor["name"], actor["type"]) for actor in others] == [
        ("", "actorlet", "supervisor"),
        ("actorlet", "pod-manager", "PodManager"),
        ("actorlet", "event-recorder", "EventRecorder"),
        ("actorlet", "objects", "supervisor"),
        ("actorlet", "object-managers", "supervisor"),
        ("object-managers", "secret-manager", "ObjectManager"),
        ("object-managers", "configmap-manager", "ObjectManager"),
        ("actorlet", "runtimes", "supervisor"),
        ("runtimes", "runtime/containers", "HollowContainers"),
        ("runtimes", "runtime", "ContainersRuntime"),
        ("actorlet", "status-keeper", "StatusKeeper"),
        ("actorlet", "probe-keeper", "ProbeKeeper"),
        ("actorlet", "probers", "supervisor"),
        ("actorlet", "rollouts", "RolloutKeeper"),
        ("actorlet", "pods", "supervisor"),
        ("actorlet", "pod-keeper", "PodKeeper"),
        ("actorlet", "sources", "supervisor"),
        ("sources", "source/file", "FileSource"),
        ("actorlet", "event-feed", "EventFeed"),
        ("actorlet", "http-server", "HttpServer"),
    ]
    assert {tuple(actor)[3:] for actor in tree} == {
        ("state", "restarts", "mailbox", "handled", "lastError", "onExhausted")
    }
    assert {actor["state"] for actor in tree} == {"running"}
    alone = {actor["name"] for actor in others if actor["onExhausted"] == "isolate"}
    managers = {
        "secret-manager",
        "configmap-manager",
        "status-keeper",
        "pod-keeper",
        "probe-keeper",
    }
    others_alone = {"event-feed", "event-recorder", "rollouts"}
    assert alone == managers | {"runtime/containers", "runtime", "source/file", *others_alone}


def test_configz_shows_what_is_in_effect_and_no_secret(manifests: Path) -> None:
    flags = (
        "--manifest-url=http://user:hush1@127.0.0.1:1/pods?token=hush2#hush3",
        "--manifest-url-header=Authorization:Bearer hush4,X-Key:hush5",
    )
    with served_agent(manifests, *flags) as agent:
        answer = agent.get("/configz")
    shown = answer.json["kubeletconfig"]
    assert (shown["kind"], shown["fileCheckFrequency"]) == ("KubeletConfiguration", "2s")
    assert shown["staticPodURL"] == "http://<masked>@127.0.0.1:1/pods?<masked>"
    assert shown["staticPodURLHeader"] == {"Authorization": ["<masked>"], "X-Key": ["<masked>"]}
    assert "hush" not in answer.text


def test_the_index_lists_every_path(agent: Served, chaotic: Served) -> None:
    paths = agent.get("/").json["paths"]
    others = [*OTHER_PATHS, "/runningpods", "/volumez", "/events", "/ui/{file}", "/ui/pods/{uid}"]
    assert paths == sorted([*others, *HEALTH_PATHS[:-1], "/readyz/{source}"])
    assert "/debug/actors/{name}/crash" in chaotic.get("/").json["paths"]


# Errors.


def test_an_unknown_path_is_not_found(agent: Served) -> None:
    answer = agent.get("/no/such/path")
    assert answer.status == 404
    assert answer.json == {"error": "404: Not Found", "code": 404}


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
@pytest.mark.parametrize("path", ["/pods", "/healthz"])
def test_a_wrong_method_is_told_which_are_right(agent: Served, path: str, method: str) -> None:
    answer = agent.get(path, method)
    assert answer.status == 405
    assert answer.json == {"error": "405: Method Not Allowed", "code": 405}
    assert answer.headers["Allow"] == "GET,HEAD"


def test_head_is_get_without_the_body(agent: Served) -> None:
    answer = agent.get("/pods", "HEAD")
    assert (answer.status, answer.text) == (200, "")
    assert answer.headers["Content-Type"] == "application/json; charset=utf-8"


# Chaos.


def test_nobody_crashes_anything_unless_the_agent_was_told_to_allow_it(agent: Served) -> None:
    assert agent.get("/debug/actors/pod-manager/crash", "POST").status == 404
    assert agent.actor("pod-manager").restarts == 0


def test_a_crash_on_request_is_a_crash_like_any_other(manifests: Path) -> None:
    # An agent of its own, since the threads of the next life begin within this story.
    with served_agent(manifests, "--enable-chaos") as agent:
        answer = agent.get("/debug/actors/source/file/crash", "POST")
        assert (answer.status, answer.json) == (202, {"crashed": "source/file"})
        eventually(lambda: agent.actor("source/file").restarts == 1)
        assert "InjectedCrashError" in agent.actor("source/file").last_error


def test_an_actor_that_is_not_there_cannot_be_crashed(chaotic: Served) -> None:
    answer = chaotic.get("/debug/actors/nobody/crash", "POST")
    assert (answer.status, answer.json["error"]) == (404, "there is no such actor")


def test_a_page_in_a_browser_crashes_nothing(chaotic: Served) -> None:
    path = "/debug/actors/http-server/crash"
    answer = chaotic.get(path, "POST", Origin="http://127.0.0.1:10255")
    assert (answer.status, answer.json["error"]) == (403, "not from a browser")
    assert chaotic.get(path).status == 405
    assert chaotic.actor("http-server").restarts == 0
