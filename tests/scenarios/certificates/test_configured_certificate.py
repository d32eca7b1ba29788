"""A certificate and authorities that somebody configured: read again when they change, good ones kept."""

from __future__ import annotations

import pytest

from messages.certificates import AuthoritiesAre, CertificateIs
from tests.support.certificates.certificate_stage import DAY, CertificateStage, IssuedFiles


@pytest.fixture
def stage(stage: CertificateStage) -> CertificateStage:
    """Return a stage with a configured pair."""
    stage.has_pair = True
    return stage


@pytest.fixture
def first(stage: CertificateStage) -> IssuedFiles:
    """Return the pair in the files, with which the agent has started."""
    files = stage.issued()
    stage.configures(files)
    assert is_told(stage.starts(), files)
    return files


def is_told(told: CertificateIs | None, files: IssuedFiles) -> bool:
    """Return whether ``told`` has the content of ``files``."""
    assert told is not None
    assert not told.is_own
    return (told.certificate, told.key) == (files.certificate, files.key)


@pytest.mark.usefixtures("first")
def test_a_configured_certificate_comes_first_and_the_node_makes_none(
    stage: CertificateStage,
) -> None:
    assert stage.keys.asked == ["read"]
    assert not stage.node.exists()
    described = stage.described()
    assert (described.source, described.is_own) == (str(stage.configured / "tls.crt"), False)


@pytest.mark.usefixtures("first")
def test_another_pair_is_told_within_a_second(stage: CertificateStage) -> None:
    second = stage.issued()
    stage.configures(second)
    stage.passes(1)
    assert is_told(stage.certificate(), second)


@pytest.mark.usefixtures("first")
def test_files_that_do_not_change_are_not_asked_about_again(stage: CertificateStage) -> None:
    stage.passes(600)
    assert stage.keys.asked == ["read"]
    assert stage.facts() == []


def test_a_link_that_leads_elsewhere_is_another_pair(
    stage: CertificateStage, first: IssuedFiles
) -> None:
    # A mounted Secret shows its files so.
    second = stage.issued()
    for version, files in (("..1", first), ("..2", second)):
        stage.configured.joinpath(version).mkdir()
        stage.configured.joinpath(version, "tls.crt").write_bytes(files.certificate)
        stage.configured.joinpath(version, "tls.key").write_bytes(files.key)
    data = stage.configured / "..data"
    data.symlink_to("..1")
    for name in ("tls.crt", "tls.key"):
        stage.configured.joinpath(name).unlink()
        stage.configured.joinpath(name).symlink_to(f"..data/{name}")
    stage.passes(2)
    assert stage.facts() == []
    data.unlink()
    data.symlink_to("..2")
    stage.passes(1)
    assert is_told(stage.certificate(), second)


def test_while_one_file_is_new_and_the_other_old_nothing_changes_and_nothing_is_said(
    stage: CertificateStage, first: IssuedFiles
) -> None:
    second = stage.issued()
    stage.puts("tls.key", second.key)
    stage.passes(1)
    assert stage.described().troubles == ()
    stage.puts("tls.crt", second.certificate[:90])
    stage.passes(1)
    assert stage.described().troubles == ()
    stage.puts("tls.crt", second.certificate)
    stage.passes(1)
    assert is_told(stage.certificate(), second)
    assert stage.warnings() == []
    assert second != first


def test_a_key_that_does_not_fit_leaves_the_last_good_pair_and_is_said_once(
    stage: CertificateStage, first: IssuedFiles
) -> None:
    stage.puts("tls.key", stage.issued().key)
    stage.passes(60)
    assert stage.facts() == []
    crt, key = (stage.configured / name for name in ("tls.crt", "tls.key"))
    trouble = f"{crt} with {key} cannot be used: the key does not fit the certificate"
    assert stage.described().troubles == (trouble,)
    assert stage.warnings() == [trouble]
    assert stage.keys.asked == ["read", "read"]
    stage.puts("tls.key", first.key)
    stage.passes(2)
    assert stage.described().troubles == ()
    # It is the one that is in use.
    assert stage.facts() == []


@pytest.mark.usefixtures("first")
def test_a_trouble_lasts_until_the_next_one_is_certain(stage: CertificateStage) -> None:
    stage.puts("tls.key", stage.issued().key)
    stage.passes(5)
    (before,) = stage.described().troubles
    stage.puts("tls.key", b"")
    stage.passes(1)
    assert stage.described().troubles == (before,)
    stage.passes(1)
    (after,) = stage.described().troubles
    assert after.endswith("there is no PEM key")
    assert stage.warnings() == [before, after]


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (lambda file: file.unlink(), "tls.key does not exist"),
        (lambda file: (file.unlink(), file.mkdir()), "tls.key is a directory, not a file"),
        (lambda file: (file.unlink(), file.symlink_to("nowhere")), "tls.key is a link to"),
        (lambda file: file.write_bytes(b""), "there is no PEM key"),
        (lambda file: file.write_bytes(file.read_bytes()[:30]), "the key cannot be read"),
        (lambda file: file.parent.rename(file.parent.with_name("moved")), "does not exist"),
    ],
    ids=["gone", "directory", "link", "empty", "torn", "moved"],
)
def test_whatever_becomes_of_the_files_the_last_good_pair_stays(
    stage: CertificateStage, first: IssuedFiles, damage: object, why: str
) -> None:
    assert callable(damage)
    damage(stage.configured / "tls.key")
    stage.passes(5)
    assert stage.facts() == []
    (trouble,) = stage.described().troubles
    assert why in trouble
    stage.follows()
    assert is_told(stage.certificate(), first)


def test_until_the_files_are_good_the_node_serves_with_its_own_certificate(
    stage: CertificateStage,
) -> None:
    told = stage.starts()
    assert told is not None
    assert told.is_own
    stage.passes(1)
    (trouble,) = stage.described().troubles
    assert trouble.endswith("cannot be used: tls.crt does not exist")
    files = stage.issued()
    stage.configures(files)
    stage.passes(1)
    assert is_told(stage.certificate(), files)
    assert stage.described().troubles == ()


def test_a_configured_certificate_that_expires_stays_and_is_said_once(
    stage: CertificateStage,
) -> None:
    files = stage.issued(days=0.001)
    stage.configures(files)
    stage.starts()
    stage.passes(0.001 * DAY - 1)
    assert stage.described().troubles == ()
    stage.passes(60)
    trouble = f"{stage.configured / 'tls.crt'} has expired"
    assert stage.described().troubles == (trouble,)
    assert stage.warnings() == [trouble]
    assert stage.facts() == []


@pytest.mark.usefixtures("first")
def test_a_program_that_gives_no_answer_is_asked_again(stage: CertificateStage) -> None:
    stage.keys.trouble = "the process exited with 1"
    second = stage.issued()
    stage.configures(second)
    stage.passes(12)
    (trouble,) = stage.described().troubles
    assert trouble.endswith("cannot be used: the process exited with 1")
    assert stage.keys.asked == ["read", "read", "read"]
    stage.keys.trouble = ""
    stage.passes(10)
    assert is_told(stage.certificate(), second)
    assert stage.warnings() == [trouble]


# --- authorities --------------------------------------------------------------------------------------------


def test_authorities_are_told_when_they_are_known_and_when_they_change(
    stage: CertificateStage,
) -> None:
    stage.has_pair, stage.has_authorities = False, True
    one, two = stage.issued().certificate, stage.issued().certificate
    stage.puts("ca.crt", one)
    stage.play.start()
    stage.follows()
    own, authorities = stage.facts()
    assert isinstance(own, CertificateIs)
    assert authorities == AuthoritiesAre(pem=one)
    stage.puts("ca.crt", one + two)
    stage.passes(1)
    assert stage.facts() == [AuthoritiesAre(pem=one + two)]


@pytest.mark.usefixtures("first")
@pytest.mark.parametrize("content", [b"", b"nobody", b"-----BEGIN CERTIFICATE-----\nAAAA"])
def test_authorities_that_cannot_be_used_leave_the_last_good_ones(
    stage: CertificateStage, content: bytes
) -> None:
    stage.has_authorities = True
    one = stage.issued().certificate
    stage.puts("ca.crt", one)
    stage.starts_again()
    stage.puts("ca.crt", content)
    stage.passes(5)
    assert stage.facts() == []
    (trouble,) = stage.described().troubles
    assert trouble.startswith(f"{stage.configured / 'ca.crt'} cannot be used: ")
    stage.follows()
    assert AuthoritiesAre(pem=one) in stage.facts()


@pytest.mark.usefixtures("first")
def test_without_configured_authorities_none_are_told(stage: CertificateStage) -> None:
    stage.follows()
    assert [type(each) for each in stage.facts()] == [CertificateIs]
