"""The kubernetes client in a process of its own: what it is asked, and what is said if it gives no answer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kube.credentials.access import CredentialsError
from kube.credentials.client import ask_process
from kube.credentials.client_process import answer
from kube.credentials.loading import InClusterCredentials
from messages.pods import JsonObject
from messages.units import Seconds
from tests.support.agent.process import eventually
from tests.support.kube.kubeconfigs import (
    CA,
    CANARY,
    CERTIFICATE,
    KEY,
    SERVER,
    TOKEN,
    Kubeconfig,
    encoded,
    refusal,
)
from tests.support.project.checkout import ROOT

QUESTIONS: dict[str, JsonObject] = {
    "a token": {"cluster": {"server": f"{SERVER}/"}, "user": {"token": TOKEN}, "files": []},
    "a password": {
        "cluster": {"server": SERVER, "insecure-skip-tls-verify": True, "tls-server-name": "api"},
        "user": {"username": "n1", "password": "secret"},
        "files": [],
    },
    "certificates": {
        "cluster": {"server": SERVER},
        "user": {},
        "files": ["certificate-authority", "client-certificate", "client-key"],
    },
    "certificates for a server without TLS": {
        "cluster": {"server": "http://api.example"},
        "user": {},
        "files": ["certificate-authority", "client-certificate", "client-key"],
    },
    "what is refused": {"cluster": {}, "user": {"username": None, "password": ""}, "files": []},
    "a service account": {
        "environment": {"KUBERNETES_SERVICE_HOST": "::1", "KUBERNETES_SERVICE_PORT": "443"},
        "token": f"{TOKEN}\n",
        "authority": CA.cert_pem.bytes().decode(),
    },
    "a service account without a token": {
        "environment": {"KUBERNETES_SERVICE_HOST": "::1", "KUBERNETES_SERVICE_PORT": "443"},
        "token": None,
        "authority": "",
    },
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_client_answers_the_same_in_a_process_of_its_own(name: str) -> None:
    # Other tests ask it in this process, where it takes no time.
    assert ask_process(QUESTIONS[name]) == answer(QUESTIONS[name])


def test_where_memory_is_short_it_is_ended_before_the_agent() -> None:
    command = [sys.executable, "-P", "-m", "kube.credentials.client_process"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment) as process:
        score = Path(f"/proc/{process.pid}/oom_score_adj")
        eventually(lambda: int(score.read_text()) == 1000)
        # It has not been asked yet: this holds for all of its work.
        question = QUESTIONS["a token"]
        output, _ = process.communicate(json.dumps(question))
    assert json.loads(output) == answer(question)


def test_certificates_count_for_a_server_with_tls_alone() -> None:
    with_tls = answer(QUESTIONS["certificates"])
    assert (with_tls["has_authority"], with_tls["has_identity"]) == (True, True)
    without = answer(QUESTIONS["certificates for a server without TLS"])
    assert (without["has_authority"], without["has_identity"]) == (False, False)


class Asked:
    """The client in this process, with all that it was asked."""

    def __init__(self) -> None:
        self.questions: list[JsonObject] = []
        self.breaks = False

    def __call__(self, question: JsonObject) -> JsonObject:
        self.questions.append(question)
        if self.breaks:
            raise CredentialsError("cannot be used: broken")
        return answer(question)


def test_neither_a_certificate_nor_a_key_leaves_the_agent(kubeconfig: Kubeconfig) -> None:
    asked = Asked()
    kubeconfig.is_for(
        cluster={"server": SERVER, "certificate-authority-data": encoded(CA.cert_pem.bytes())},
        user={"client-certificate-data": encoded(CERTIFICATE), "client-key-data": encoded(KEY)},
    )
    assert kubeconfig.read_by(ask=asked).access().identity == CERTIFICATE.rstrip() + b"\n" + KEY
    text = json.dumps(asked.questions)
    assert [secret for secret in (CERTIFICATE, KEY) if encoded(secret) in text] == []
    assert "PRIVATE" not in text


def test_what_did_not_change_is_not_asked_again(kubeconfig: Kubeconfig) -> None:
    asked = Asked()
    credentials = kubeconfig.read_by(ask=asked)
    refused = credentials.access()
    for _ in range(3):
        kubeconfig.later(5.0)
        assert credentials.reload(refused) == refused
    assert len(asked.questions) == 1
    kubeconfig.is_for(user={"token": "new"})
    assert credentials.reload(refused).authorization == "Bearer new"
    assert len(asked.questions) == 2


def test_a_client_that_could_not_be_asked_is_asked_again(kubeconfig: Kubeconfig) -> None:
    asked = Asked()
    asked.breaks = True
    credentials = kubeconfig.read_by(ask=asked)
    assert refusal(credentials) == f"kubeconfig {kubeconfig.path} cannot be used: broken"
    asked.breaks = False
    kubeconfig.later(5.0)
    assert credentials.access().authorization == f"Bearer {TOKEN}"


@pytest.fixture
def interpreter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a script that runs in the place of Python."""
    path = tmp_path / "python"
    monkeypatch.setattr(sys, "executable", str(path))
    return path


def becomes(interpreter: Path, script: str) -> None:
    interpreter.write_text(f"#!/bin/sh\n{script}\n")
    interpreter.chmod(0o700)


def test_no_token_is_in_the_arguments_or_the_environment_of_the_process(
    interpreter: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    python = os.path.realpath("/proc/self/exe")
    before = set(os.environ)
    seen = tmp_path / "seen"
    becomes(interpreter, f'echo "$@" >{seen}; env >>{seen}; exec {python} "$@"')
    monkeypatch.setenv("OF_THE_USER", "kept")
    assert ask_process(QUESTIONS["a token"])["authorization"] == f"Bearer {TOKEN}"
    arguments, *environment = seen.read_text().splitlines()
    assert arguments == "-P -m kube.credentials.client_process"
    assert CANARY not in seen.read_text()
    assert "OF_THE_USER=kept" in environment
    names = {line.partition("=")[0] for line in environment if "=" in line}
    # The last three are the shell's own.
    assert names - before - {"OF_THE_USER", "PYTHONPATH"} <= {"_", "PWD", "SHLVL", "OLDPWD"}


@pytest.mark.parametrize(
    ("script", "why"),
    [
        (f"echo {CANARY} >&2; exit 3", "exited with 3"),
        ("kill -9 $$", "was ended by signal 9"),
        (f"echo {CANARY}", "printed something that is not JSON"),
        (f"echo '[\"{CANARY}\"]'", "printed something else than an answer"),
        (f"echo '{{\"{CANARY}\": 1}}'", "printed something else than an answer"),
        ("sleep 60", "gave no answer within 0.5 s"),
    ],
)
def test_of_a_process_that_gives_no_answer_it_is_said_why(
    interpreter: Path,
    kubeconfig: Kubeconfig,
    capfd: pytest.CaptureFixture[str],
    script: str,
    why: str,
) -> None:
    becomes(interpreter, script)
    deadline = Seconds(0.5 if "sleep" in script else 30.0)
    credentials = kubeconfig.read_by(ask=lambda question: ask_process(question, deadline))
    start = f"kubeconfig {kubeconfig.path} cannot be used: the process with the kubernetes client"
    assert refusal(credentials) == f"{start} {why}"
    assert CANARY not in "".join(capfd.readouterr())


def test_without_an_interpreter_it_says_so(
    kubeconfig: Kubeconfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    credentials = kubeconfig.read_by(ask=ask_process)
    monkeypatch.setattr(sys, "executable", "")
    said = refusal(credentials)
    assert said.endswith("client needs a Python interpreter, and none is known")


def test_an_interpreter_that_was_taken_away_costs_no_credentials_that_are_good(
    kubeconfig: Kubeconfig, interpreter: Path
) -> None:
    becomes(interpreter, f'exec {os.path.realpath("/proc/self/exe")} "$@"')
    credentials = kubeconfig.read_by(ask=ask_process)
    before = credentials.access()
    interpreter.unlink()
    kubeconfig.is_for(user={"token": "new"})
    kubeconfig.later(1.0)
    while not credentials.trouble:
        assert credentials.access() is before
        kubeconfig.later(1.0)
    assert credentials.trouble.endswith("cannot be run: no such file or directory")


def test_a_service_account_says_too_that_the_client_cannot_be_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "token").write_text(TOKEN)
    monkeypatch.setattr(sys, "executable", "")
    said = refusal(InClusterCredentials(tmp_path, {"KUBERNETES_SERVICE_HOST": "10.96.0.1"}))
    assert said.startswith(f"the service account in {tmp_path} cannot be used: the process with")
