"""The certificate that a node makes for itself: found again, made anew, and kept."""

from __future__ import annotations

import stat

import pytest

from messages.certificates import CertificateIs
from tests.support.certificates.certificate_stage import DAY, CertificateStage
from tests.support.kernel.clock import EPOCH


def own(stage: CertificateStage) -> CertificateIs:
    """Start the agent, and return the certificate that it told."""
    told = stage.starts()
    assert told is not None
    return told


def test_a_node_without_configured_files_makes_a_certificate_for_its_name_and_addresses(
    stage: CertificateStage,
) -> None:
    stage.addresses = ("192.0.2.7", "2001:db8::7")
    told = own(stage)
    assert (told.names, told.addresses, told.is_own) == (("n1",), stage.addresses, True)
    assert told.until == EPOCH + 365 * DAY
    kept = stage.kept()
    assert kept == {"kubelet.crt": told.certificate, "kubelet.key": told.key}
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in stage.node.iterdir()}
    assert modes == {"kubelet.crt": 0o644, "kubelet.key": 0o600}


def test_the_next_process_uses_the_same(stage: CertificateStage) -> None:
    told = own(stage)
    assert stage.starts_again() == told
    assert stage.keys.asked == ["make", "read"]


def test_the_certificate_of_a_kubelet_is_used_as_it_is(stage: CertificateStage) -> None:
    files = stage.issued(days=365)
    stage.leaves(files)
    told = own(stage)
    assert (told.certificate, told.key, told.addresses) == (files.certificate, files.key, ())
    stage.passes(60)
    assert stage.facts() == []
    assert stage.kept() == {"kubelet.crt": files.certificate, "kubelet.key": files.key}


def test_other_addresses_of_the_node_have_it_made_anew(stage: CertificateStage) -> None:
    first = own(stage)
    stage.addresses = ("192.0.2.8",)
    stage.passes(9)
    assert stage.facts() == []
    stage.passes(1)
    told = stage.certificate()
    assert told is not None
    assert told.addresses == ("192.0.2.8",)
    assert stage.kept()["kubelet.key"] == told.key != first.key


def test_a_network_that_is_down_for_a_while_changes_nothing(stage: CertificateStage) -> None:
    own(stage)
    before, stage.addresses = stage.addresses, ()
    stage.passes(30)
    stage.addresses = before
    stage.passes(30)
    assert stage.facts() == []


def test_the_same_addresses_in_another_order_are_no_others(stage: CertificateStage) -> None:
    stage.addresses = ("192.0.2.7", "2001:db8::7")
    own(stage)
    stage.addresses = ("2001:db8::7", "192.0.2.7")
    stage.passes(30)
    assert stage.facts() == []


def test_it_is_made_anew_when_a_fifth_of_its_life_is_left(stage: CertificateStage) -> None:
    files = stage.issued(days=0.01)
    stage.leaves(files)
    assert own(stage).certificate == files.certificate
    stage.passes(0.008 * DAY - 2)
    assert stage.facts() == []
    stage.passes(20)
    told = stage.certificate()
    assert told is not None
    assert told.until > EPOCH + 365 * DAY


def test_the_files_of_somebody_who_renewed_them_first_are_taken(stage: CertificateStage) -> None:
    stage.leaves(stage.issued(days=0.01))
    own(stage)
    renewed = stage.issued(days=365)
    stage.leaves(renewed)
    stage.passes(0.009 * DAY)
    told = stage.certificate()
    assert told is not None
    assert told.certificate == renewed.certificate
    assert "make" not in stage.keys.asked


@pytest.mark.parametrize(
    "damage",
    [
        lambda stage: stage.leaves(stage.issued(name="n2")),
        lambda stage: (stage.node / "kubelet.key").write_bytes(stage.issued().key),
        lambda stage: (stage.node / "kubelet.key").write_bytes(b""),
        lambda stage: (stage.node / "kubelet.key").unlink(),
        lambda stage: (stage.node / "kubelet.crt").write_bytes(b"x" * 1_000_000),
        lambda stage: (stage.node / "kubelet.crt").unlink(),
        lambda stage: (stage.node / "kubelet.crt").write_bytes(stage.issued().certificate[:90]),
        lambda stage: (stage.node / "kubelet.key").rename(stage.node / "moved"),
    ],
    ids=["name", "other key", "empty", "no key", "large", "no certificate", "torn", "moved"],
)
def test_files_that_cannot_be_used_are_replaced(stage: CertificateStage, damage: object) -> None:
    first = own(stage)
    assert callable(damage)
    damage(stage)
    told = stage.starts_again()
    assert told is not None
    assert (told.names, told.addresses) == (first.names, first.addresses)
    assert told.key != first.key
    kept = stage.kept()
    assert (kept["kubelet.crt"], kept["kubelet.key"]) == (told.certificate, told.key)
    assert stage.starts_again() == told


def test_a_link_in_the_place_of_the_key_is_replaced_and_its_target_left_alone(
    stage: CertificateStage,
) -> None:
    first = own(stage)
    elsewhere = stage.configured / "elsewhere"
    elsewhere.write_bytes(first.key)
    (stage.node / "kubelet.key").unlink()
    (stage.node / "kubelet.key").symlink_to(elsewhere)
    told = stage.starts_again()
    assert told is not None
    assert elsewhere.read_bytes() == first.key != told.key
    assert not (stage.node / "kubelet.key").is_symlink()


def test_files_that_are_damaged_while_the_agent_runs_change_nothing(
    stage: CertificateStage,
) -> None:
    own(stage)
    (stage.node / "kubelet.key").unlink()
    stage.passes(60)
    assert stage.facts() == []


def test_a_directory_that_takes_nothing_costs_only_the_next_process_its_certificate(
    stage: CertificateStage,
) -> None:
    stage.node.write_bytes(b"no directory")
    told = own(stage)
    assert told.is_own
    trouble = f"{stage.node / 'kubelet.crt'} cannot be kept for a restart: file exists"
    assert stage.described().troubles == (trouble,)
    stage.passes(60)
    assert stage.warnings() == [trouble]
    assert stage.facts() == []
    stage.node.unlink()
    stage.passes(10)
    assert stage.described().troubles == ()
    assert stage.kept()["kubelet.key"] == told.key
    assert stage.facts() == []


def test_without_the_program_there_is_no_certificate_until_it_answers_again(
    stage: CertificateStage,
) -> None:
    stage.keys.trouble = "the process exited with 1"
    assert stage.starts() is None
    described = stage.described()
    assert (described.source, described.until) == ("", None)
    assert described.troubles == ("no certificate can be made: the process exited with 1",)
    stage.passes(9)
    assert len(stage.keys.asked) == 1
    stage.keys.trouble = ""
    stage.passes(1)
    assert stage.certificate() is not None
    assert stage.described().troubles == ()
    assert stage.warnings() == list(described.troubles)


def test_without_the_program_the_present_certificate_stays(stage: CertificateStage) -> None:
    own(stage)
    stage.keys.trouble = "the process exited with 1"
    stage.addresses = ("192.0.2.8",)
    stage.passes(60)
    assert stage.facts() == []
    assert stage.described().addresses == ("192.0.2.7",)


def test_whoever_asks_hears_where_it_is_from_and_until_when_it_counts(
    stage: CertificateStage,
) -> None:
    told = own(stage)
    described = stage.described()
    assert described.source == str(stage.node / "kubelet.crt")
    assert (described.is_own, described.until) == (True, told.until)
    assert (described.names, described.addresses) == (told.names, told.addresses)
    assert described.troubles == ()
