"""The command as its users meet it, beside a whole agent: pipes, terminals, speed of imports, ends."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.agent.process import ROOT, AgentProcess, eventually, manifest
from tests.support.patience import PATIENCE

pytestmark = [pytest.mark.process, pytest.mark.timeout(120)]

LOOP = """\
apiVersion: v1
kind: Pod
metadata: {name: loop}
spec:
  containers:
  - {name: main, image: busybox, command: ["sh", "-c", "exit 3"]}
"""
BROKEN = "apiVersion: v1\nkind: Pod\nmetadata: {name: broken}\nspec:\n  containrs: []\n"
LACKING = """\
apiVersion: v1
kind: Pod
metadata: {name: lacking}
spec:
  containers:
  - {name: main, image: busybox}
  volumes:
  - {name: keys, secret: {secretName: nobody-made-it}}
"""


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentProcess]:
    """Return an agent with a pod that is well, and three that are not, each for another reason."""
    folder = tmp_path_factory.mktemp("command")
    objects = folder / "objects"
    objects.mkdir()
    with AgentProcess(folder) as agent:
        for name, text in (
            ("web", manifest("web")),
            ("loop", LOOP),
            ("broken", BROKEN),
            ("lacking", LACKING),
        ):
            agent.write(f"{name}.yaml", text)
        agent.start_on_manifests(f"--local-objects-dir={objects}")
        eventually(lambda: "CrashLoopBackOff" in agent.get("/pods")[1])
        eventually(lambda: '"absent"' in agent.get("/watchz")[1])
        yield agent
        assert agent.stops() == 0


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-P", str(ROOT / "command" / "__main__.py"), *map(str, arguments)]


def run(
    agent: AgentProcess | None, *arguments: object, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run the command in a folder of its own, until it ends."""
    server = {"ACTORLET_SERVER": f"127.0.0.1:{agent.port}"} if agent is not None else {}
    return subprocess.run(
        command(*arguments),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
        cwd="/",
        env={**os.environ, **server, **environment},
    )


@pytest.mark.parametrize(
    ("name", "code", "why"),
    [
        ("lacking", 0, "Secret default/nobody-made-it does not exist; it is needed by"),
        (
            "broken",
            3,
            "spec.containers (line 4): is required (unknown beside it: containrs on line 5)",
        ),
        ("loop", 0, "Container main ended with code 3 (Error)"),
    ],
)
def test_the_first_lines_say_why_a_pod_is_not_running(
    agent: AgentProcess, name: str, code: int, why: str
) -> None:
    ended = run(agent, "pod", name, COLUMNS="80")
    assert ended.returncode == code
    assert why in " ".join(" ".join(ended.stdout.splitlines()[:4]).split())
    assert max(map(len, ended.stdout.splitlines())) <= 80


def test_status_names_what_is_not_well_beside_an_agent_that_is(agent: AgentProcess) -> None:
    ended = run(agent, "status")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "is ready and healthy" in ended.stdout
    assert "runtime    hollow: nothing really runs" in ended.stdout.splitlines()
    said = " ".join(ended.stdout.split())
    assert "default/loop-node1: CrashLoopBackOff: Container main ended with code 3" in said
    assert "default/lacking-node1: ContainerCreating: Secret default/nobody-made-it" in said
    assert "broken.yaml: rejected" in " ".join(ended.stdout.split())


def test_without_a_subcommand_the_help_is_shown_line_by_line() -> None:
    shown = run(None)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout.startswith("Usage: actorlet [OPTIONS] COMMAND [ARGS]...\n")


def test_what_goes_into_a_pipe_has_no_colours_and_whole_lines(agent: AgentProcess) -> None:
    ended = run(agent, "pods", COLUMNS="")
    assert "\x1b" not in ended.stdout
    assert len(ended.stdout.splitlines()) == 4
    assert json.loads(run(agent, "pods", "-o", "json").stdout)["kind"] == "PodList"


@pytest.mark.parametrize(("environment", "has_colours"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_a_terminal_has_colours_unless_its_owner_wants_none(
    agent: AgentProcess, environment: dict[str, str], *, has_colours: bool
) -> None:
    reader, writer = pty.openpty()
    variables = {key: each for key, each in os.environ.items() if key != "NO_COLOR"}
    with os.fdopen(reader, "rb", buffering=0) as screen:
        with os.fdopen(writer, "wb") as terminal:
            subprocess.run(
                command("--server", f"127.0.0.1:{agent.port}", "pods"),
                stdout=terminal,
                timeout=PATIENCE,
                check=True,
                env={**variables, "TERM": "xterm", **environment},
            )
        said = screen.read(2**16).decode()
    assert "loop-node1" in said
    assert ("\x1b[" in said) == has_colours


def test_a_reader_who_has_read_enough_is_no_error(agent: AgentProcess) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as output:
        ended = subprocess.run(
            command("--server", f"127.0.0.1:{agent.port}", "actors"),
            stdout=output,
            stderr=subprocess.PIPE,
            timeout=PATIENCE,
            check=False,
        )
    assert (ended.returncode, ended.stderr) == (0, b"")


def test_a_full_disk_is_a_sentence(agent: AgentProcess) -> None:
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run(
            command("--server", f"127.0.0.1:{agent.port}", "pods"),
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=PATIENCE,
            check=False,
            text=True,
        )
    assert ended.returncode == 70
    assert ended.stderr == "actorlet: cannot write the answer: No space left on device\n"


def test_events_are_told_as_they_happen_until_somebody_interrupts(agent: AgentProcess) -> None:
    with subprocess.Popen(
        command("--server", f"127.0.0.1:{agent.port}", "events", "-f", "--new", "--only", "pod"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as following:
        assert following.stdout is not None
        assert following.stderr is not None
        try:
            eventually(lambda: "actorlet_event_readers 1.0" in agent.get("/metrics")[1])
            agent.write("later.yaml", manifest("later"))
            # What another pod does meanwhile may be told before it.
            lines = iter(following.stdout.readline, "")
            assert any("default/later-node1 is added" in line for line in lines)
            following.send_signal(signal.SIGINT)
            assert following.wait(PATIENCE) == 130
            assert following.stderr.read() == ""
        finally:
            following.kill()
            (agent.manifests / "later.yaml").unlink(missing_ok=True)


def test_a_command_imports_nothing_that_makes_it_slow(agent: AgentProcess) -> None:
    line = command("--server", f"127.0.0.1:{agent.port}", "pods", "-o", "json")
    ended = subprocess.run(
        [line[0], "-X", "importtime", *line[1:]],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    imported = {
        line.rpartition("|")[2].strip().partition(".")[0] for line in ended.stderr.splitlines()
    }
    slow = {"agent", "aiohttp", "kernel", "kubernetes", "pydantic", "rich", "textual", "yaml"}
    assert imported & slow == set()


def test_run_is_the_agent_itself(tmp_path: Path) -> None:
    ended = run(None, "run", "--help")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith("Usage: actorlet run [FLAGS]\n")
    assert "--pod-manifest-path" in ended.stdout
    assert run(None, "run", "--nothing").returncode == 2
    with AgentProcess(tmp_path) as agent:
        flags = (f"--root-dir={agent.root_dir}", "--runtime=hollow", "--healthz-port=0")
        line = command("run", *flags, f"--read-only-port={agent.port}")
        with subprocess.Popen(line, stderr=subprocess.DEVNULL) as own:
            try:
                eventually(agent.is_ready)
                assert run(agent, "status").returncode == 0
                # One process: what the agent must not import, it has not.
                assert "run.py" in Path(f"/proc/{own.pid}/cmdline").read_text()
                own.send_signal(signal.SIGTERM)
                assert own.wait(PATIENCE) == 0
            finally:
                own.kill()


def test_validate_needs_no_agent(tmp_path: Path) -> None:
    examples = ROOT / "examples" / "manifests"
    many = len([*examples.iterdir()])
    ended = run(None, "validate", examples)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert f"{many} manifests: {many} accepted" in ended.stdout
    (tmp_path / "broken.yaml").write_text(BROKEN)
    ended = run(None, "validate", tmp_path, "-o", "json", "--hostname-override", "n")
    assert ended.returncode == 1
    (found,) = json.loads(ended.stdout)["manifests"]
    assert found["pod"] == "default/broken-n"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("validate", "/nowhere"), 3, "actorlet: /nowhere does not exist\n"),
        (
            ("validate", "/", "--nothing"),
            2,
            "actorlet: No such option '--nothing' (--help lists the flags)\n",
        ),
    ],
)
def test_what_cannot_be_validated_is_a_sentence(
    arguments: tuple[str, ...], code: int, said: str
) -> None:
    ended = run(None, *arguments)
    assert (ended.returncode, ended.stdout, ended.stderr) == (code, "", said)


def test_explain_node_says_of_a_kubelet_s_file_what_is_obeyed_ignored_and_refused() -> None:
    file = ROOT / "tests" / "fixtures" / "configurations" / "kubeadm.yaml"
    ended = run(None, "explain-node", file, "--runtime=hollow", COLUMNS="100")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "The agent would start here without a cluster, with --runtime hollow." in ended.stdout
    assert all(len(line) <= 100 for line in ended.stdout.splitlines())
    ended = run(None, "explain-node", file, "-o", "json", "--", "--runtime=cri", "--max-pods=many")
    assert ended.returncode == 1
    document = json.loads(ended.stdout)
    refused = [each for each in document["settings"] if each["fate"] == "refused"]
    assert [each["name"] for each in refused] == ["--max-pods"]
    assert (document["starts"], document["refusals"]) == (False, [refused[0]["why"]])


def test_explain_node_without_a_file_knows_every_field_and_changes_nothing() -> None:
    names = run(None, "explain-node", "-o", "name").stdout.splitlines()
    assert {"staticPodPath", "logging.format", "failSwapOn"} < set(names)
    everything = run(None, "explain-node", "--all", "-o", "name", "--", "--max-pods=3")
    # What a flag says is told of the flag alone.
    assert set(everything.stdout.splitlines()) == {*names, "--max-pods"} - {"maxPods"}


def test_an_explanation_imports_the_settings_and_nothing_of_the_agent() -> None:
    file = ROOT / "tests" / "fixtures" / "configurations" / "kubeadm.yaml"
    line = command("explain-node", file)
    ended = subprocess.run(
        [line[0], "-X", "importtime", *line[1:]],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
        env={**os.environ, "COLUMNS": "80"},
    )
    imported = {
        line.rpartition("|")[2].strip().partition(".")[0] for line in ended.stderr.splitlines()
    }
    slow = {"agent", "aiohttp", "kernel", "kubernetes", "rich", "structlog", "textual"}
    assert imported & slow == set()


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (
            ("/nowhere",),
            3,
            "cannot read the configuration file /nowhere: No such file or directory",
        ),
        (("a", "--config=b"), 2, "a and --config are two files: name one"),
        (("--", "--fail-swap-on", "--cni-bin-dir"), 2, "Option '--cni-bin-dir' requires an arg"),
    ],
)
def test_what_cannot_be_explained_is_a_sentence(
    arguments: tuple[str, ...], code: int, said: str
) -> None:
    ended = run(None, "explain-node", *arguments)
    assert (ended.returncode, ended.stdout) == (code, "")
    assert ended.stderr.startswith(f"actorlet: {said}")
    assert len(ended.stderr.splitlines()) == 1


def test_an_actor_that_keeps_failing_is_named_and_keeps_no_command_from_its_answer(
    tmp_path: Path,
) -> None:
    with AgentProcess(tmp_path) as agent:
        agent.write("web.yaml", manifest("web"))
        agent.start_on_manifests("--enable-chaos")

        def has_failed() -> bool:
            agent.get("/debug/actors/source/file/crash", method="POST")
            return str(agent.actors()["source/file"]["state"]) == "failed"

        eventually(has_failed)
        told = run(agent, "status")
        assert told.returncode == 1, told.stderr
        assert "source/file: failed: " in told.stdout
        assert run(agent, "sources").returncode == 0
        assert agent.stops() == 0


def test_a_directory_that_is_gone_is_told_by_status_beside_the_pods_that_run_on(
    tmp_path: Path,
) -> None:
    with AgentProcess(tmp_path) as agent:
        agent.write("web.yaml", manifest("web"))
        agent.start_on_manifests()
        eventually(agent.pods)
        agent.manifests.rename(tmp_path / "elsewhere")
        eventually(lambda: "does not exist" in agent.get("/sourcez")[1])
        told = run(agent, "status", COLUMNS="500")
        assert told.returncode == 0
        assert f"- source/file: {agent.manifests} does not exist\n" in told.stdout
        assert agent.stops() == 0


def test_a_volume_of_a_driver_that_keeps_a_pod_which_is_gone_is_told_by_status(
    tmp_path: Path,
) -> None:
    with AgentProcess(tmp_path) as agent:
        left = agent.root_dir / "pods/u9/volumes/kubernetes.io~nfs/share/file"
        left.parent.mkdir(parents=True)
        left.touch()
        agent.write("web.yaml", manifest("web"))
        agent.start_on_manifests("--hollow-volumes")
        eventually(lambda: '"held"' in agent.get("/volumez")[1])
        told = run(agent, "status", COLUMNS="500")
        assert (told.returncode, run(agent, "status", "--strict").returncode) == (0, 1)
        assert "1 volume of drivers that keep pods which are gone\n" in told.stdout
        assert 'u9: UnmountVolume.TearDown failed for volume "share" : ' in told.stdout
        assert left.exists()
        assert agent.stops() == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory to somebody else")
def test_whoever_may_not_use_the_socket_is_told_who_may(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    os.chown(closed, 65534, 65534)
    # Root without what lets it pass by permissions: the interpreter may be where nobody else may be.
    weak = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"]
    refused = subprocess.run(
        [*weak, *command("logs", "web", "--root-dir", closed)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert refused.returncode == 4
    assert refused.stderr == (
        f"actorlet: {closed}/actorlet.sock cannot be reached: Permission denied: it is for root and the"
        " agent's own user\n"
    )
