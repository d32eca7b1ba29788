"""Commands that give credentials, and what is said of those that give none."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from kube.credentials.access import Access
from kube.credentials.exec_plugin import PluginError, run_plugin
from messages.units import Seconds
from tests.support.kernel.clock import EPOCH
from tests.support.kube.kubeconfigs import (
    CANARY,
    CERTIFICATE,
    KEY,
    SERVER,
    TOKEN,
    Kubeconfig,
    at,
    exec_credential,
    printing,
)
from tests.support.patience import PATIENCE

# --- commands ----------------------------------------------------------------------------------------


def test_a_command_gives_a_token(
    kubeconfig: Kubeconfig,
) -> None:
    kubeconfig.plugin(printing(exec_credential(token=TOKEN)))
    assert kubeconfig.access().authorization == f"Bearer {TOKEN}"
    assert kubeconfig.plugin_runs == 1


def test_a_command_gives_a_certificate(
    kubeconfig: Kubeconfig,
) -> None:
    status = {"clientCertificateData": CERTIFICATE.decode(), "clientKeyData": KEY.decode()}
    kubeconfig.plugin(printing(exec_credential(**status)))
    assert kubeconfig.access().identity == CERTIFICATE.rstrip() + b"\n" + KEY


def test_a_command_gets_its_arguments_its_environment_and_the_cluster(
    kubeconfig: Kubeconfig,
) -> None:
    # It sends back what it got, as far as it is expected, in the token.
    script = (
        'case "$KUBERNETES_EXEC_INFO" in\n'
        '*\'"interactive": false\'*\'"server": "https://api.example:6443"\'*\'"config": 7\'*)\n'
        'echo \'{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",\'\n'
        'echo \'"status": {"token": "\'"$1-$REGION"\'"}}\';; esac'
    )
    kubeconfig.plugin(
        script,
        args=["first"],
        env=[{"name": "REGION", "value": "north"}],
        provideClusterInfo=True,
    )
    extension = {"name": "client.authentication.k8s.io/exec", "extension": 7}
    kubeconfig.is_for(cluster={"server": SERVER, "extensions": [extension]})
    assert kubeconfig.access().authorization == "Bearer first-north"


def test_a_command_is_run_again_a_minute_before_its_credential_ends(kubeconfig: Kubeconfig) -> None:
    status = {"token": TOKEN, "expirationTimestamp": at(EPOCH + 3600)}
    kubeconfig.plugin(printing(exec_credential(**status)))
    kubeconfig.access()
    kubeconfig.later(3539.0)
    kubeconfig.access()
    assert kubeconfig.plugin_runs == 1
    kubeconfig.later(1.0)
    kubeconfig.access()
    assert kubeconfig.plugin_runs == 2


def test_a_short_lived_credential_is_used_for_most_of_its_life(kubeconfig: Kubeconfig) -> None:
    status = {"token": TOKEN, "expirationTimestamp": at(EPOCH + 50)}
    kubeconfig.plugin(printing(exec_credential(**status)))
    kubeconfig.access()
    kubeconfig.later(39.0)
    kubeconfig.access()
    assert kubeconfig.plugin_runs == 1


def test_many_threads_that_need_a_credential_run_the_command_once(
    kubeconfig: Kubeconfig,
) -> None:
    kubeconfig.plugin(printing(exec_credential(token=TOKEN)))
    together = threading.Barrier(8)

    def access(_number: int) -> Access:
        together.wait()
        return kubeconfig.access()

    with ThreadPoolExecutor(8) as threads:
        accesses = set(threads.map(access, range(8)))
    assert len(accesses) == 1
    assert kubeconfig.plugin_runs == 1


def test_a_failing_command_is_run_again_after_some_seconds_only(kubeconfig: Kubeconfig) -> None:
    kubeconfig.plugin("exit 1")
    kubeconfig.refusal()
    kubeconfig.later(4.0)
    kubeconfig.refusal()
    assert kubeconfig.plugin_runs == 1
    kubeconfig.later(1.0)
    kubeconfig.refusal()
    assert kubeconfig.plugin_runs == 2


PLUGIN = 'has a user "n1" whose exec plugin "./plugin"'


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        (f"echo {CANARY} >&2; exit 3", "exited with 3; run it by hand to see what it says"),
        ("kill -9 $$", "was ended by signal 9; run it by hand to see what it says"),
        (f"echo {CANARY}", "printed something that is not JSON"),
        (f"echo {CANARY} >&2", "printed something that is not JSON"),
        ("echo '[]'", "printed no ExecCredential with a status"),
        (printing({"kind": "Pod", "status": {}}), "printed no ExecCredential with a status"),
        (
            printing({**exec_credential(token=TOKEN), "apiVersion": "v0"}),
            "answered with another apiVersion than it was asked with",
        ),
        (printing(exec_credential()), "gave neither a token nor a certificate with its key"),
        (
            printing(exec_credential(clientKeyData=KEY.decode())),
            "gave neither a token nor a certificate with its key",
        ),
        (
            printing(exec_credential(token=TOKEN, clientKeyData=KEY.decode())),
            "gave a certificate without a key, or a key without a certificate",
        ),
        (printing(exec_credential(token=[TOKEN])), "gave a token that is not a string"),
        (
            printing(exec_credential(clientKeyData=f"{CANARY}\ud800")),
            "gave a clientKeyData that is not a string",
        ),
        (
            printing(exec_credential(token=TOKEN, expirationTimestamp=CANARY)),
            "gave an expirationTimestamp that is no date",
        ),
        (
            printing(exec_credential(token=TOKEN, expirationTimestamp="2030-01-01T00:00:00")),
            "gave an expirationTimestamp without a time zone",
        ),
        (
            printing(exec_credential(token=TOKEN, expirationTimestamp=at(EPOCH - 1))),
            "gave what has expired already",
        ),
        ("head -c 1048577 /dev/zero", "printed more than 1 MiB"),
    ],
)
def test_of_a_command_that_gives_nothing_it_is_said_why(
    kubeconfig: Kubeconfig, capfd: pytest.CaptureFixture[str], script: str, sentence: str
) -> None:
    kubeconfig.plugin(script)
    assert kubeconfig.refusal() == f"{PLUGIN} {sentence}"
    assert CANARY not in capfd.readouterr().err


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"command": "no-such-command"}, "is not installed: it is nowhere in PATH"),
        ({"command": "./gone"}, "cannot be run: no such file or directory"),
        ({"command": "./plugin\0"}, "cannot be run: it is no command"),
        ({"command": ""}, "has no command"),
        ({"args": [1]}, "has args that are not a list of strings"),
        ({"env": [CANARY]}, "has an env that is not a list of names and values"),
        (
            {"env": [{"name": 1, "value": CANARY}]},
            "has an env that is not a list of names and values",
        ),
        ({"interactiveMode": "Always"}, "wants to ask somebody at a terminal, and there is none"),
        (
            {"apiVersion": "client.authentication.k8s.io/v1alpha1"},
            "k8s.io/v1 and client.authentication.k8s.io/v1beta1",
        ),
    ],
)
def test_of_a_command_that_cannot_be_run_it_is_said_why(
    kubeconfig: Kubeconfig,
    fields: dict[str, Any],
    sentence: str,
) -> None:
    kubeconfig.plugin("exit 0", **fields)
    text = kubeconfig.refusal()
    assert text.endswith(sentence)
    assert CANARY not in text


# A child of the command's own that lives on and keeps its output open.
HANGING = 'sleep 60 & echo $! > "$(dirname "$0")/child"; wait'


def test_a_command_that_hangs_is_ended_with_all_that_it_began(kubeconfig: Kubeconfig) -> None:
    kubeconfig.plugin(HANGING)
    with pytest.raises(PluginError, match=r"^gave no answer within 0.5 s$"):
        run_plugin(kubeconfig.user["exec"], {}, kubeconfig.folder, Seconds(0.5))
    child = int((kubeconfig.folder / "child").read_text())
    wait_until(lambda: not is_running(child))


def test_a_command_that_ends_before_its_children_is_not_waited_for(kubeconfig: Kubeconfig) -> None:
    kubeconfig.plugin(f"sleep 5 &\n{printing(exec_credential(token=TOKEN))}")
    assert run_plugin(kubeconfig.user["exec"], {}, kubeconfig.folder, Seconds(4.0)).token == TOKEN


def test_a_command_that_prints_for_ever_is_ended_long_before_its_time(
    kubeconfig: Kubeconfig,
) -> None:
    # Some wait for somebody to answer, and ask again and again.
    kubeconfig.plugin("while :; do head -c 100000 /dev/zero; done")
    with pytest.raises(PluginError, match=r"^printed more than 1 MiB$"):
        run_plugin(kubeconfig.user["exec"], {}, kubeconfig.folder, Seconds(4.0))


def is_running(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2][0]
    except FileNotFoundError:
        return False
    return state != "Z"


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    pause = threading.Event()
    while not condition():
        assert time.monotonic() < deadline, "it never came to that"
        pause.wait(0.01)


def test_extensions_for_others_are_not_passed_on(kubeconfig: Kubeconfig) -> None:
    kubeconfig.plugin(
        'case "$KUBERNETES_EXEC_INFO" in *config*) exit 1;; esac\n'
        + printing(exec_credential(token=TOKEN)),
        provideClusterInfo=True,
    )
    extension = {"name": "other", "extension": CANARY}
    kubeconfig.is_for(cluster={"server": SERVER, "extensions": [extension]})
    assert kubeconfig.access().authorization == f"Bearer {TOKEN}"


@pytest.mark.parametrize("extensions", [[CANARY], {CANARY: 1}, 7])
def test_extensions_that_are_none_are_not_passed_on(
    kubeconfig: Kubeconfig, extensions: object
) -> None:
    kubeconfig.plugin(printing(exec_credential(token=TOKEN)), provideClusterInfo=True)
    kubeconfig.is_for(cluster={"server": SERVER, "extensions": extensions})
    assert kubeconfig.access().authorization == f"Bearer {TOKEN}"


def test_an_extension_that_json_does_not_know_cannot_be_passed_on(kubeconfig: Kubeconfig) -> None:
    kubeconfig.plugin("exit 0", provideClusterInfo=True)
    extension = {"name": "client.authentication.k8s.io/exec", "extension": date(2030, 1, 1)}
    kubeconfig.is_for(cluster={"server": SERVER, "extensions": [extension]})
    sentence = "is to be told of a cluster with extensions that are not JSON"
    assert kubeconfig.refusal() == f"{PLUGIN} {sentence}"
