"""Credentials that change, expire, break or are refused while they are in use."""

from __future__ import annotations

from collections.abc import MutableMapping
from datetime import UTC, datetime
from typing import Any

import pytest

from kube.credentials.access import Access, CredentialsError
from kube.credentials.rereading import LoadedAccess, NoteFile, RereadCredentials
from tests.support.kernel.clock import EPOCH, ManualClock
from tests.support.kube.kubeconfigs import (
    CA,
    CANARY,
    CERTIFICATE,
    KEY,
    SERVER,
    TOKEN,
    Kubeconfig,
    at,
    exec_credential,
    pair,
    printing,
)

OTHER_CERTIFICATE, OTHER_KEY = pair(CA.issue_cert("n1@example.com", common_name="n1"))


# --- rotation ----------------------------------------------------------------------------------------


def test_a_token_that_rotates_is_used_within_a_second_on_the_same_connection(
    kubeconfig: Kubeconfig,
) -> None:
    kubeconfig.is_for(user={"tokenFile": kubeconfig.file("token", "first")})
    before = kubeconfig.access()
    kubeconfig.file("token", "second")

    # Files are looked at once a second.
    kubeconfig.later(0.9)
    assert kubeconfig.access() is before
    kubeconfig.later(0.1)
    after = kubeconfig.access()
    assert after.authorization == "Bearer second"
    assert after.connection_key == before.connection_key


def test_nothing_is_read_again_while_nothing_changes(kubeconfig: Kubeconfig) -> None:
    kubeconfig.plugin(printing(exec_credential(token=TOKEN)))
    before = kubeconfig.access()
    kubeconfig.later(3600.0)
    assert kubeconfig.access() is before
    assert kubeconfig.plugin_runs == 1


def test_a_certificate_that_rotates_needs_another_connection(kubeconfig: Kubeconfig) -> None:
    # As a kubelet does it: a link that is put in the place of another.
    kubeconfig.file("first.pem", CERTIFICATE + KEY)
    kubeconfig.file("second.pem", OTHER_CERTIFICATE + OTHER_KEY)
    current = kubeconfig.folder / "current.pem"
    current.symlink_to("first.pem")
    kubeconfig.is_for(user={"client-certificate": current.name, "client-key": current.name})
    before = kubeconfig.access()

    (kubeconfig.folder / "next").symlink_to("second.pem")
    (kubeconfig.folder / "next").rename(current)
    kubeconfig.later(1.0)
    after = kubeconfig.access()
    assert after.identity == OTHER_CERTIFICATE + OTHER_KEY
    assert after.connection_key != before.connection_key


def test_a_kubeconfig_that_appears_is_found(kubeconfig: Kubeconfig) -> None:
    kubeconfig.path.unlink()
    kubeconfig.refusal()
    kubeconfig.write()
    kubeconfig.later(1.0)
    assert kubeconfig.access().server == SERVER


Logs = list[MutableMapping[str, Any]]


def test_a_kubeconfig_that_breaks_leaves_the_last_good_one(
    kubeconfig: Kubeconfig, logs: Logs
) -> None:
    before = kubeconfig.access()
    kubeconfig.path.write_text("{")
    kubeconfig.later(1.0)
    assert kubeconfig.access() is before
    kubeconfig.later(60.0)
    assert kubeconfig.access() is before
    assert [line["event"] for line in logs] == [
        "credentials cannot be read again, keeping the last"
    ]

    kubeconfig.is_for(user={"token": "new"})
    kubeconfig.later(1.0)
    assert kubeconfig.access().authorization == "Bearer new"
    assert [line["event"] for line in logs[1:]] == ["credentials can be read again"]


def test_why_it_cannot_be_read_is_shown_until_it_can(kubeconfig: Kubeconfig) -> None:
    kubeconfig.access()
    assert kubeconfig.credentials.trouble == ""

    # Somebody pastes a token into it, and breaks it.
    kubeconfig.path.write_text(f"token: [{TOKEN}")
    kubeconfig.later(1.0)
    kubeconfig.access()
    assert kubeconfig.credentials.trouble.startswith(f"kubeconfig {kubeconfig.path} is not YAML")
    assert CANARY not in kubeconfig.credentials.trouble

    kubeconfig.write()
    kubeconfig.later(1.0)
    kubeconfig.access()
    assert kubeconfig.credentials.trouble == ""


def test_why_there_is_none_at_all_is_shown_too(kubeconfig: Kubeconfig) -> None:
    assert kubeconfig.credentials.trouble == ""
    kubeconfig.path.unlink()
    refused = kubeconfig.refusal()
    assert kubeconfig.credentials.trouble == f"kubeconfig {kubeconfig.path} {refused}"


def test_a_client_certificate_is_kept_until_it_expires_and_no_longer(
    kubeconfig: Kubeconfig,
) -> None:
    end = datetime.fromtimestamp(EPOCH + 100, UTC)
    certificate, key = pair(CA.issue_cert("n1@example.com", not_after=end))
    kubeconfig.identifies(certificate, key)
    before = kubeconfig.access()
    kubeconfig.later(99.0)
    assert kubeconfig.access() is before
    kubeconfig.later(1.0)
    assert kubeconfig.refusal().endswith("that expired on 2023-11-14 22:15:00 UTC")


def test_a_command_that_fails_at_refresh_leaves_its_credential_until_that_ends(
    kubeconfig: Kubeconfig,
) -> None:
    status = {"token": TOKEN, "expirationTimestamp": at(EPOCH + 600)}
    kubeconfig.plugin(printing(exec_credential(**status)))
    before = kubeconfig.access()
    (kubeconfig.folder / "plugin").write_text("#!/bin/sh\nexit 1\n")
    kubeconfig.later(599.0)
    assert kubeconfig.access() is before
    kubeconfig.later(6.0)
    assert kubeconfig.refusal().endswith("exited with 1; run it by hand to see what it says")


# --- refused -----------------------------------------------------------------------------------------


def test_what_was_refused_is_read_again_at_once_when_it_changed(
    kubeconfig: Kubeconfig,
) -> None:
    refused = kubeconfig.access()
    kubeconfig.is_for(user={"token": "new"})
    assert kubeconfig.credentials.reload(refused).authorization == "Bearer new"


def test_of_many_that_are_refused_only_the_first_reads_again(kubeconfig: Kubeconfig) -> None:
    kubeconfig.plugin(
        'printf \'{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",\'\n'
        f'printf \'"status": {{"token": "%s"}}}}\' "$(wc -l < {kubeconfig.folder}/runs)"'
    )
    refused = kubeconfig.access()
    kubeconfig.later(60.0)
    accesses = {kubeconfig.credentials.reload(refused) for _ in range(5)}
    assert [access.authorization for access in accesses] == ["Bearer 2"]
    assert kubeconfig.plugin_runs == 2


def test_a_command_whose_credential_is_refused_is_not_run_for_each_refusal(
    kubeconfig: Kubeconfig,
) -> None:
    kubeconfig.plugin(printing(exec_credential(token=TOKEN)))
    refused = kubeconfig.access()
    assert kubeconfig.credentials.reload(refused) == refused
    assert kubeconfig.plugin_runs == 1
    kubeconfig.later(5.0)
    assert kubeconfig.credentials.reload(refused) == refused
    assert kubeconfig.plugin_runs == 2


def test_what_was_refused_is_not_kept_when_nothing_else_can_be_read(
    kubeconfig: Kubeconfig,
) -> None:
    refused = kubeconfig.access()
    kubeconfig.path.write_text("{")
    with pytest.raises(CredentialsError, match="is not YAML"):
        kubeconfig.credentials.reload(refused)


def test_after_a_bug_in_reading_it_is_read_anew() -> None:
    access = Access(server=SERVER, user="n1")
    bugs = [RuntimeError("a bug")]

    def read(_note: NoteFile) -> LoadedAccess:
        if bugs:
            raise bugs.pop()
        return LoadedAccess(access=access)

    credentials = RereadCredentials(read, ManualClock())
    with pytest.raises(RuntimeError):
        credentials.access()
    assert credentials.access() is access
