"""Secrets and ConfigMaps in volumes and variables, as real containers see them, without a control plane."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from time import monotonic

import pytest

from tests.support.agent.process import eventually
from tests.support.canary import hidden
from tests.support.containers.containerd import Containerd
from tests.support.containers.volume_agent import (
    FOLLOWS,
    RESTS,
    VolumeAgent,
    config_map,
    secret,
)
from tests.support.patience import SLOWNESS

KEYS = {"name": "keys", "mountPath": "/keys"}
SOON = 15.0 * SLOWNESS
"""Seconds within which a change is seen, also on a machine that does much else."""
WATCHES = (
    "last=; while true; do now=$(readlink /keys/..data);"
    ' if [ "$now" != "$last" ]; then last=$now; say "$(cat /keys/key)"; fi; sleep 0.02; done'
)
"""Says the content whenever another one was put in place: only the link is looked at."""


@pytest.fixture
def agent(mounting: Path, containerd: Containerd) -> Iterator[VolumeAgent]:
    with VolumeAgent(mounting, containerd) as agent:
        yield agent


def test_a_pod_has_variables_and_files_of_secrets_and_config_maps(agent: VolumeAgent) -> None:
    agent.keep("Secret", "login", user="shop", key=hidden("one"))
    agent.keep("ConfigMap", "settings", color="red", raw=b"\0\xff")
    env = [
        {"name": "NAME", "value": "web"},
        {"name": "COLOR", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "color"}}},
    ]
    agent.mount(
        "web",
        'say "$COLOR $user"; say "$(cat /keys/user)"; say "$(cat /settings/color)";'
        ' say "$(od -An -tx1 /settings/raw)"; say "$(ls /keys)";'
        ' say "$(grep " /keys " /proc/mounts | cut -d" " -f1,3,4 | cut -d, -f1)"; ' + RESTS,
        [secret("keys", "login"), config_map("settings", "settings")],
        [KEYS, {"name": "settings", "mountPath": "/settings"}],
        main={"env": env, "envFrom": [{"secretRef": {"name": "login"}}]},
    )
    agent.up()
    agent.await_said(
        "web", "red shop", "shop", "red", " 00 ff", "key", "user", "tmpfs tmpfs ro", "rests"
    )


def test_a_change_is_seen_in_the_container_by_who_watches_and_by_who_looks(
    agent: VolumeAgent,
) -> None:
    agent.keep("Secret", "login", key="one")
    volumes, mounts = [secret("keys", "login")], [KEYS]
    agent.mount("watching", WATCHES, volumes, mounts)
    agent.mount("looking", FOLLOWS, volumes, mounts, env={"FILE": "/keys/key"})
    agent.up()
    agent.await_said("watching", "one")
    agent.await_said("looking", "one")
    for text in ("two", "three"):
        began = monotonic()
        agent.keep("Secret", "login", key=text)
        eventually(lambda text=text: agent.said("looking")[-1:] == [text])  # type: ignore[misc]
        eventually(lambda text=text: agent.said("watching")[-1:] == [text])  # type: ignore[misc]
        assert monotonic() - began < SOON
    assert agent.said("watching") == ["one", "two", "three"]
    assert agent.status("looking")["restartCount"] == 0


def test_modes_and_the_group_of_files_are_as_the_pod_says(agent: VolumeAgent) -> None:
    agent.keep("Secret", "login", key="one", other="two")
    items = [{"key": "key", "path": "deep/key", "mode": 0o400}, {"key": "other", "path": "other"}]
    agent.mount(
        "web",
        "for each in deep/key other; do say \"$(stat -L -c '%a %u %g' /keys/$each)\"; done;"
        ' say "$(cat /keys/deep/key)"; say "$(cat /keys/other 2>&1)"; ' + RESTS,
        [secret("keys", "login", items=items, defaultMode=0o600)],
        [KEYS],
        securityContext={"runAsUser": 1000, "runAsGroup": 1000, "fsGroup": 77},
    )
    agent.up()
    agent.await_said("web", "440 0 77", "640 0 77", "one", "two", "rests")


def test_nobody_in_a_container_writes_what_the_agent_writes(agent: VolumeAgent) -> None:
    agent.keep("Secret", "login", key="one")
    agent.mount(
        "web",
        "touch /keys/mine || say refused; rm /keys/key || say refused; "
        "mount -o remount,rw /keys || say refused; " + RESTS,
        [secret("keys", "login")],
        [{**KEYS, "readOnly": False}],
    )
    agent.up()
    agent.await_said("web", "refused", "refused", "refused", "rests")


def test_what_is_optional_is_not_waited_for_and_comes_later(agent: VolumeAgent) -> None:
    volume = secret("keys", "login", optional=True)
    agent.mount("web", FOLLOWS, [volume], [KEYS], env={"FILE": "/keys/key"})
    agent.up()
    agent.await_running("web")
    agent.keep("Secret", "login", key="one")
    agent.await_said("web", "one")
    agent.drop("Secret", "login")
    agent.keep("Secret", "login", key="two")
    eventually(lambda: agent.said("web")[-1] == "two")
    assert agent.status("web")["restartCount"] == 0


def test_a_pod_waits_for_a_secret_says_which_and_starts_when_it_appears(
    agent: VolumeAgent,
) -> None:
    agent.mount("web", RESTS, [secret("keys", "login")], [KEYS])
    agent.mount("other", RESTS, [], [])
    agent.up()
    agent.await_running("other")
    eventually(lambda: agent.waits("web"))
    eventually(lambda: agent.waits_for("web", "keys", "login"))
    agent.keep("Secret", "login", key="one")
    began = monotonic()
    agent.await_said("web", "rests")
    assert monotonic() - began < SOON


def test_a_secret_that_goes_while_it_is_used_stays_in_the_files_of_who_has_it(
    agent: VolumeAgent,
) -> None:
    agent.keep("Secret", "login", key="one")
    agent.mount("web", 'say "$(cat /keys/key)"; ' + RESTS, [secret("keys", "login")], [KEYS])
    agent.up()
    agent.await_said("web", "one", "rests")
    agent.drop("Secret", "login")
    eventually(lambda: agent.waits_for("web", "login"))
    agent.await_running("web")
    agent.containerd.kill_task(agent.status("web")["containerID"].partition("://")[2])
    agent.await_said("web", "one", "rests", "one", "rests")


def test_a_pod_ends_and_leaves_nothing_although_its_secret_is_gone(agent: VolumeAgent) -> None:
    agent.keep("Secret", "login", key="one")
    agent.mount("web", RESTS, [secret("keys", "login")], [KEYS])
    agent.up()
    agent.await_running("web")
    assert agent.mounted()
    agent.drop("Secret", "login")
    agent.withdraw("web")
    agent.await_nothing()
    eventually(lambda: agent.left() == [])


def test_a_thousand_keys_and_binary_ones_are_there_byte_for_byte(agent: VolumeAgent) -> None:
    content = {f"key-{number:04}": bytes([number % 256]) * 1000 for number in range(1000)}
    agent.keep_all("ConfigMap", "large", content)
    script = 'say "$(ls /all | wc -l) $(cat /all/* | md5sum)"; ' + RESTS
    agent.mount("web", script, [config_map("all", "large")], [{"name": "all", "mountPath": "/all"}])
    agent.up()
    agent.await_running("web")
    volume = agent.volume("web", "configmap", "all")
    assert {each.name: each.read_bytes() for each in volume.glob("key-*")} == content
    assert eventually(lambda: agent.said("web"))[0].startswith("1000 ")


def test_a_key_that_is_named_as_a_link_of_the_volume_is_written_nowhere(
    agent: VolumeAgent,
) -> None:
    agent.keep_all("ConfigMap", "odd", {"..data": "gotcha", "plain": "fine"})
    agent.mount("web", RESTS, [config_map("all", "odd")], [{"name": "all", "mountPath": "/all"}])
    agent.mount("other", RESTS, [], [])
    agent.up()
    agent.await_running("other")
    agent.keep("ConfigMap", "odd", plain="fine")
    agent.await_running("web")
    volume = agent.volume("web", "configmap", "all")
    assert [each.name for each in volume.iterdir() if not each.name.startswith("..")] == ["plain"]
