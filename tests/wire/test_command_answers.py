"""The command beside agents of every kind: real, slow, restarting, of another version, and none at all."""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Callable

import pytest
import yaml

from command import options
from command.main import main
from command.wording import local_time
from tests.support.command.agents import Script, answering, body, http, pod, pods, real, says
from tests.support.wire.ports import free_ports

ASKING = ["status", "pods", "pod web", "objects", "sources", "actors"]
Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def nobody_is_patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let commands wait for 0.3 s at most."""
    monkeypatch.setattr(options, "PATIENCE", 0.3)
    monkeypatch.setenv("COLUMNS", "80")


def asked(server: str, line: str) -> int:
    return main(["--server", server, *line.split()])


def failed(capture: Capture) -> str:
    """Return the one sentence of a command that has no answer."""
    said = capture.readouterr()
    assert "Traceback" not in said.err
    found = re.fullmatch(r"actorlet: (.*)\n", said.err)
    assert found, said.err
    return found[1]


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("status", 0, "is ready and healthy"),
        ("pods", 0, "default/loop-edge-1"),
        ("pods -n kube-system", 0, "kube-system/etcd-edge-1"),
        ("pods --troubled", 0, "CrashLoopBackOff"),
        ("pods -n nowhere", 0, "There are no pods in the namespace nowhere."),
        ("pods -n kube-system --troubled", 0, "4 pods in the namespace kube-system, and nothing"),
        ("pod loop", 0, "Container a ended with 3 (Error)"),
        ("pod shop", 0, "Secret default/shop-database does not exist"),
        ("pod web", 0, "It is well."),
        ("pod web -o wide", 0, "nginx-unprivileged:1.29-alpine"),
        ("pod batch.yaml", 0, "default/nightly-checksum-edge-1"),
        ("pod broken", 3, "spec.containers (line 4): is required"),
        ("objects", 0, "secret/default/shop-database"),
        ("sources", 0, "broken.yaml: rejected: spec.containers (line 4)"),
        ("sources --troubled", 0, "broken.yaml"),
        ("actors", 0, "pods/*"),
        ("actors --all", 0, "pods/f609f2cd8c6d83050009a64c03d25a04"),
    ],
)
def test_a_real_agent_s_answers_are_shown(
    line: str, code: int, words: str, capsys: Capture
) -> None:
    with answering(says(real())) as server:
        assert asked(server, line) == code
    said = " ".join(capsys.readouterr().out.split())
    assert words in said


@pytest.mark.parametrize("line", ASKING)
def test_scripts_get_the_same_as_json_and_as_yaml(line: str, capsys: Capture) -> None:
    with answering(says(real())) as server:
        assert asked(server, f"{line} -o json") == 0
        as_json = json.loads(capsys.readouterr().out)
        assert asked(server, f"{line} -o yaml") == 0
        as_yaml = yaml.safe_load(capsys.readouterr().out)
    assert as_yaml == {**as_json, "server": server} if line == "status" else as_yaml == as_json


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("pods", "kube-system/etcd-edge-1"),
        ("pod web", "default/web-edge-1"),
        ("objects", "secret/default/shop-database"),
        ("sources", "file"),
        ("actors", "pod-manager"),
    ],
)
def test_names_are_one_in_a_line(line: str, name: str, capsys: Capture) -> None:
    with answering(says(real())) as server:
        assert asked(server, f"{line} -o name") == 0
    assert name in capsys.readouterr().out.splitlines()


def test_documents_are_those_of_the_agent(capsys: Capture) -> None:
    with answering(says(real())) as server:
        assert asked(server, "pods -o json") == 0
    assert json.loads(capsys.readouterr().out) == {**body("pods"), "items": pods()}


def test_an_agent_that_is_not_well_is_code_1_and_names_what_is_not(capsys: Capture) -> None:
    ill = "[-]container-runtime failed: connection refused\nreadyz check failed\n"
    with answering(says({**real(), "/readyz": http(500, ill)})) as server:
        assert asked(server, "status") == 1
    said = capsys.readouterr().out
    assert "is not ready but healthy" in said
    assert "container-runtime: connection refused" in said


def well() -> dict[str, object]:
    """Return what an agent answers whose pods and manifests are all well."""
    file = {**body("sourcez")["sources"][0], "verdicts": {"accepted": 1}, "manifests": []}
    return {**real(), "/pods": {"items": [pod("web-edge-1")]}, "/sourcez": {"sources": [file]}}


@pytest.mark.parametrize(
    ("agent", "trouble"),
    [
        (well(), None),
        ({**well(), "/pods": real()["/pods"]}, "2 pods in trouble"),
        ({**well(), "/sourcez": real()["/sourcez"]}, "2 manifests to look at"),
        (
            {**well(), "/sourcez": {"sources": [{"name": "file", "ready": True, "error": "gone"}]}},
            "source/file: gone",
        ),
    ],
)
def test_a_strict_status_is_code_1_wherever_it_names_anything(
    agent: dict[str, object], trouble: str | None, capsys: Capture
) -> None:
    with answering(says(agent)) as server:
        assert asked(server, "status --strict") == (0 if trouble is None else 1)
        assert (trouble or "is ready and healthy") in capsys.readouterr().out
        assert asked(server, "status --strict -o json") == (0 if trouble is None else 1)
        assert asked(server, "status") == 0


def test_pods_of_the_api_server_are_no_manifests(capsys: Capture) -> None:
    api = {"name": "api", "ready": True, "verdicts": {"accepted": 500}, "manifests": []}
    file = {"name": "file", "ready": True, "verdicts": {"accepted": 3}, "manifests": []}
    for sources, shown, many in (([file, api], "3: 3 accepted", 3), ([api], "none", 0)):
        with answering(says({**real(), "/sourcez": {"sources": sources}})) as server:
            asked(server, "status")
            assert f"manifests  {shown}\n" in capsys.readouterr().out
            asked(server, "status -o json")
            assert json.loads(capsys.readouterr().out)["manifests"] == many


def test_secrets_and_config_maps_from_files_are_counted_apart_from_manifests(
    capsys: Capture,
) -> None:
    objects = {"name": "local-objects", "ready": True, "verdicts": {"accepted": 2, "kept": 1}}
    file = {"name": "file", "ready": True, "verdicts": {"accepted": 3}, "manifests": []}
    told = {"sources": [file, {**objects, "manifests": []}]}
    with answering(says({**real(), "/sourcez": told})) as server:
        asked(server, "status")
        out = capsys.readouterr().out
        assert "manifests      3: 3 accepted\n" in out
        assert "local objects  3: 2 accepted, 1 kept\n" in out
        asked(server, "status -o json")
        document = json.loads(capsys.readouterr().out)
        assert (document["manifests"], document["localObjects"]) == (3, 3)


def test_status_says_which_version_runs_and_that_a_restart_is_due(capsys: Capture) -> None:
    version = {"text": "1.0 (aaa)", "advice": "1.1 (bbb) is installed: a restart is due"}
    with answering(says({**well(), "/ui/agent": {"version": version}})) as server:
        assert asked(server, "status --strict") == 0
        said = capsys.readouterr().out.splitlines()
        assert asked(server, "status -o json") == 0
        assert json.loads(capsys.readouterr().out)["version"] == version
    assert "- actorlet 1.1 (bbb) is installed: a restart is due" in said
    assert "version    1.0 (aaa)" in said


def test_what_is_out_of_date_says_so(capsys: Capture) -> None:
    stale = http(200, json.dumps(body("pods")), "Actorlet-Statuses: last known, x does not answer")
    with answering(says({"/pods": stale})) as server:
        assert asked(server, "pods") == 0
    assert "Statuses are last known, x does not answer." in capsys.readouterr().out


def test_a_name_that_nobody_has_is_code_3(capsys: Capture) -> None:
    with answering(says(real())) as server:
        assert asked(server, "pod nobody") == 3
        assert failed(capsys).startswith("there is no pod nobody, and no manifest of it")
        assert asked(server, "pod kube-") == 3
        assert "kube- may be any of 4 pods" in failed(capsys)


@pytest.mark.parametrize("line", [*ASKING, "events -f"])
def test_an_agent_that_is_away_is_a_sentence_and_code_4(line: str, capsys: Capture) -> None:
    (port,) = free_ports(1)
    assert asked(f"127.0.0.1:{port}", line) == 4
    said = failed(capsys)
    assert said.startswith(f"no agent answers at 127.0.0.1:{port}: it does not run, or")


def silent(connection: socket.socket, _path: str) -> None:
    """Wait until the other side has enough."""
    connection.recv(1)


def drip(connection: socket.socket, _path: str) -> None:
    """Send a byte now and then, for longer than anybody waits for the whole."""
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n{")
    pause = threading.Event()
    while not pause.wait(0.02):
        connection.sendall(b" ")


def cut(connection: socket.socket, _path: str) -> None:
    connection.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{"items": [')


def cut_in_pieces(connection: socket.socket, _path: str) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{'ite")


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (silent, "did not answer /pods within 0.3 s"),
        (drip, "took longer than 1.5 s for its answer to /pods"),
        (cut, "broke off its answer to /pods: it may be restarting"),
        (cut_in_pieces, "broke off its answer to /pods: it may be restarting"),
        (lambda _connection, _path: None, "broke off its answer to /pods: it may be restarting"),
        (
            says({}, http(503, '{"error": "pod-manager: did not answer within 1 s"}')),
            "cannot answer /pods at the moment: pod-manager: did not answer within 1 s",
        ),
    ],
    ids=["silent", "drip", "cut", "cut in pieces", "nothing", "busy"],
)
def test_an_agent_that_is_slow_or_restarts_is_code_4(
    script: Script, said: str, capsys: Capture
) -> None:
    with answering(script) as server:
        assert asked(server, "pods") == 4
        assert failed(capsys) == f"the agent at {server} {said}"


def sends(data: bytes) -> Callable[[socket.socket, str], None]:
    return lambda connection, _path: connection.sendall(data)


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (sends(b"SSH-2.0-OpenSSH_9.2\r\n"), "does not speak HTTP"),
        (sends(b"\x00\xff" * 5_000), "does not speak HTTP"),
        (sends(b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n{"), "says no JSON object"),
        (says({"/pods": "<html>hello</html>"}), "says no JSON object"),
        (says({"/pods": "[1, 2]"}), "says no JSON object"),
        (says({"/pods": "[" * 100_000}), "says no JSON object"),
        (says({"/pods": http(200, "")}), "says no JSON object"),
        (says({"/pods": "\ud800".encode("utf-8", "surrogatepass").decode("latin-1")}), "no JSON"),
        (says({"/pods": {}}), "has no list of items"),
        (says({"/pods": {"items": {"a": 1}}}), "has no list of items"),
        (says({"/pods": {"items": [1]}}), "has no list of items"),
        (says({}), "has nothing at /pods: it is of another version, or no agent"),
        (says({}, http(421, '{"error": "not for this host"}')), "with 421: not for this host"),
        (says({}, http(500, "\x1b[31m")), "with 500"),
        (says({}, http(302, "", "Location: http://other.example/")), "with 302"),
    ],
)
def test_garbage_is_a_sentence_and_code_5(script: Script, said: str, capsys: Capture) -> None:
    with answering(script) as server:
        assert asked(server, "pods") == 5
        assert said in failed(capsys)


@pytest.mark.parametrize("line", ASKING)
@pytest.mark.parametrize(
    "garbage",
    ["", "[]", "null", "{", '{"items": 1, "sources": "x", "objects": {}, "actors": null}', "\x00"],
)
def test_no_garbage_makes_any_command_fail_otherwise(
    line: str, garbage: str, capsys: Capture
) -> None:
    paths = ("/pods", "/sourcez", "/watchz", "/actorz", "/probez", "/readyz", "/healthz")
    with answering(says(dict.fromkeys(paths, garbage))) as server:
        assert asked(server, line) == 5
        failed(capsys)


STRANGE = {
    "/pods": {
        "items": [{}, {"metadata": 3}, {"metadata": {"name": "web"}, "status": [], "spec": ""}]
    },
    "/sourcez": {"sources": [{}, {"manifests": [{}, 4, {"path": 5, "warnings": "no"}]}]},
    "/watchz": {"objects": [{}, {"kind": 7, "references": "many", "ageSeconds": "old"}]},
    "/actorz": {"actors": [{}, {"name": "a", "parent": "a"}, {"name": None, "restarts": 1e400}]},
    "/probez": {"pods": [{"probes": [{}, 1, {"lastAnswer": "x"}]}]},
    "/readyz": "what\n",
    "/healthz": "",
}


@pytest.mark.parametrize("output", ["table", "wide", "json", "yaml"])
@pytest.mark.parametrize("line", [each for each in ASKING if each != "pod web"])
def test_an_agent_of_another_version_is_shown_as_far_as_it_is_understood(
    line: str, output: str, capsys: Capture
) -> None:
    form = [] if line == "status" and output == "wide" else ["-o", output]
    with answering(says(STRANGE)) as server:
        assert main(["--server", server, *line.split(), *form]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    assert said.out


def test_a_pod_that_goes_while_it_is_asked_about_is_code_3(capsys: Capture) -> None:
    asked_before: list[str] = []

    def answer(connection: socket.socket, path: str) -> None:
        pods = {"items": []} if "/pods" in asked_before else body("pods")
        asked_before.append(path.partition("?")[0])
        says({"/pods": pods})(connection, path)

    with answering(answer) as server:
        assert asked(server, "pod web") == 3
    assert failed(capsys) == "the pod default/web-edge-1 has just gone"


def test_an_agent_that_does_not_say_why_pods_do_not_run_is_of_another_version(
    capsys: Capture,
) -> None:
    uid = body("pods")["items"][0]["metadata"]["uid"]
    for answers in (STRANGE, {**real(), f"/ui/pods/{uid}": {}}):
        with answering(says(answers)) as server:
            assert asked(server, f"pod {uid if answers is not STRANGE else 'web'}") == 5
        assert "is of another version" in failed(capsys)


def test_an_agent_without_probes_and_objects_shows_its_pods_all_the_same(capsys: Capture) -> None:
    answers = {path: each for path, each in real().items() if path not in {"/probez", "/watchz"}}
    with answering(says(answers)) as server:
        assert asked(server, "pod loop") == 0
    assert "Container a ended with 3" in capsys.readouterr().out


# Events.

EVENTS = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n: connected\n\n"
    b'event: pod\ndata: {"op":"ADD","source":"file","namespace":"n","name":"web"}\n\n'
    b'event: object\ndata: {"kind":"Secret","namespace":"n","name":"s","change":"updated"}\nid: 7\n\n'
)
COMPLETE = b'event: state\ndata: {"state":"complete","message":"all is told"}\n\n'


def test_events_are_a_line_each_until_the_agent_ends_them(capsys: Capture) -> None:
    with answering(sends(EVENTS)) as server:
        assert asked(server, "events -f") == 4
    said = capsys.readouterr()
    lines = [line.split(maxsplit=2)[1:] for line in said.out.splitlines()]
    assert lines == [["pod", "n/web is added (file)"], ["object", "Secret n/s updated"]]
    assert "has ended the stream: it stops, or restarts" in said.err


@pytest.mark.parametrize("line", ["events", "events -f"])
def test_a_server_of_something_else_is_no_agent_whose_events_ended(
    line: str, capsys: Capture
) -> None:
    with answering(says({"/events": http(200, "<html>hello</html>")})) as server:
        assert asked(server, line) == 5
    assert "it may not be an agent" in failed(capsys)


def test_events_are_chosen_by_kind_and_told_as_json(capsys: Capture) -> None:
    with answering(sends(EVENTS)) as server:
        assert asked(server, "events -f --only object -o json") == 4
    (line,) = capsys.readouterr().out.splitlines()
    assert (json.loads(line)["event"], json.loads(line)["id"]) == ("object", "7")


def test_without_following_the_present_state_is_all(capsys: Capture) -> None:
    def goes_on(connection: socket.socket, path: str) -> None:
        assert path == "/events"
        connection.sendall(EVENTS + COMPLETE)
        connection.recv(1)

    with answering(goes_on) as server:
        assert asked(server, "events") == 0
    assert capsys.readouterr().out.splitlines()[-1].endswith("all is told")


def test_how_everything_is_has_the_time_of_the_question_once_and_what_happens_then_its_own(
    capsys: Capture,
) -> None:
    begins = b'event: state\ndata: {"state":"begins","why":"the feed was restarted"}\n\n'
    head, present = EVENTS.split(b": connected\n\n")
    with answering(sends(head + begins + present + COMPLETE + present)) as server:
        assert asked(server, "events -f --only pod") == 4
    first, is_here, happens = capsys.readouterr().out.splitlines()
    assert re.fullmatch(
        r"How everything is at \d\d:\d\d:\d\d, since the feed was restarted:", first
    )
    assert is_here == f"{'':8}  pod      n/web is added (file)"
    assert re.fullmatch(r"\d\d:\d\d:\d\d  pod      n/web is added \(file\)", happens)


def past(number: int, **data: object) -> dict[str, object]:
    """Return something that has happened, as the agent tells it."""
    at = {"first": "2026-11-23T10:00:00Z", "last": f"2026-11-23T12:00:{number:02}Z"}
    about = {"kind": "Pod", "namespace": "n", "name": "web", "reason": "Started"}
    return {"event": "event", "count": 1, **at, **about, **data, "key": str(99 - number)}


def remembers(connection: socket.socket, path: str) -> None:
    """Answer what has happened, the newest first, in two pages."""
    assert path in {"/ui/events?limit=500", "/ui/events?limit=500&after=98"}
    head = {"since": "2026-11-23T09:00:00Z", "total": 3, "forgotten": 1}
    newest = past(3, message="ready", count=4)
    older = [past(1, event="object", kind="Secret", name="s", change="modified"), past(0)]
    page = (
        {"events": older, "next": None} if "after" in path else {"events": [newest], "next": "98"}
    )
    connection.sendall(http(200, json.dumps({**head, **page})))


def test_the_past_is_told_with_its_own_times_the_newest_last_and_how_far_back_it_reaches(
    capsys: Capture,
) -> None:
    with answering(remembers) as server:
        assert asked(server, "events --past") == 0
    said = " ".join(capsys.readouterr().out.split())
    since, began = local_time("2026-11-23T09:00:00Z"), local_time("2026-11-23T10:00:00Z")
    times = [local_time(f"2026-11-23T12:00:{second:02}Z") for second in (0, 1, 3)]
    assert said == (
        f"3 events since the agent started at {since}; 1 older one is forgotten: "
        f"{times[0]} event n/web Started: {times[1]} object Secret n/s modified "
        f"{times[2]} event n/web Started: ready (x4 since {began})"
    )


def test_scripts_get_the_past_as_a_json_object_in_each_line(capsys: Capture) -> None:
    with answering(remembers) as server:
        assert asked(server, "events --past -o json") == 0
        head, *rows = map(json.loads, capsys.readouterr().out.splitlines())
        assert asked(server, "events --past -o json --only object") == 0
        (only,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert (head["event"], head["state"], head["total"]) == ("state", "past", 3)
    assert [each["last"][-3:-1] for each in rows] == ["00", "01", "03"]
    assert only == rows[1]
    assert not any("key" in each for each in rows)  # by which the agent finds the next page


def test_what_happens_is_told_from_now_or_from_an_event_on(capsys: Capture) -> None:
    paths: list[str] = []

    def answer(connection: socket.socket, path: str) -> None:
        paths.append(path)
        connection.sendall(EVENTS)

    with answering(answer) as server:
        assert asked(server, "events -f --new") == 4
        assert asked(server, "events -f --since 1a.2-3&x") == 4
    assert paths == ["/events?replay=false", "/events?since=1a.2-3%26x"]
    assert capsys.readouterr().out


def test_a_reader_that_was_dropped_is_told_why(capsys: Capture) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
    slow = head + b": dropped: you do not keep up\n\n"
    with answering(sends(slow)) as server:
        assert asked(server, "events -f") == 4
    assert "says: dropped: you do not keep up" in failed(capsys)


def test_events_that_are_refused_are_a_sentence(capsys: Capture) -> None:
    with answering(says({}, http(503, '{"error": "there are 32 readers already"}'))) as server:
        assert asked(server, "events -f") == 4
        assert "there are 32 readers already" in failed(capsys)


# Wrong usage.


@pytest.mark.parametrize(
    "line",
    [
        "nothing",
        "--nothing",
        "pods --nothing",
        "pods more",
        "pod",
        "pods -o xml",
        "events --new",
        "events --since 1",
        "events --past -f",
        "events --past --since 1",
        "events -f -o yaml",
        "status -o wide",
        "validate",
        "--server host:x pods",
        "pods --server ::1",
    ],
)
def test_wrong_usage_is_one_sentence_and_code_2(line: str, capsys: Capture) -> None:
    assert main(line.split()) == 2
    failed(capsys)


def test_the_server_may_stand_before_the_subcommand_behind_it_or_in_the_environment(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with answering(says(real())) as server:
        assert main(["--server", server, "pods"]) == 0
        assert main(["--server", "nowhere.invalid:1", "pods", "--server", server]) == 0
        monkeypatch.setenv("ACTORLET_SERVER", server)
        assert main(["pods"]) == 0
    assert capsys.readouterr().out.count("default/web-edge-1") == 3


@pytest.mark.parametrize("line", ["", "--help", "-h", "pods --help", "pod -h", "--version"])
def test_help_and_version_are_answered_by_the_command_alone(line: str, capsys: Capture) -> None:
    assert main(line.split()) == 0
    assert "actorlet" in "".join(capsys.readouterr())


def test_containers_with_old_variables_are_counted_and_named(capsys: Capture) -> None:
    answers = real()
    uid = next(e for e in body("pods")["items"] if e["metadata"]["name"] == "web-edge-1")
    page = f"/ui/pods/{uid['metadata']['uid']}"
    old = {"container": "nginx", "kind": "Secret", "name": "login"}
    told = {**answers[page], "oldVariables": [old]}  # type: ignore[dict-item]
    count = {"pods": {"oldVariables": 1}}
    with answering(says({**answers, page: told, "/ui/agent": count})) as server:
        assert asked(server, "status") == 0
        assert "1 container has old variables" in capsys.readouterr().out
        assert asked(server, "pod web") == 0
        said = " ".join(capsys.readouterr().out.split())
        assert "It is well." in said
        assert "container nginx (of an earlier Secret login): another start takes" in said
