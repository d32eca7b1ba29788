"""Listings that crashed PodManager: what is tried, what is kept out, and what takes its place."""

from __future__ import annotations

from typing import Any

import pytest

from messages.pods import FILE, HTTP, Pod, PodUid
from stores.pods.quarantine import Quarantine
from tests.support.builders import make_pod, uid_of

WEB, SHOP = make_pod("web"), make_pod("shop")
WEB_2, SHOP_2 = make_pod("web", image="web:2"), make_pod("shop", image="shop:2")


def harmless(_pod: Pod) -> bool:
    return True


def poisonous(*pods: Pod) -> Any:
    return lambda pod: pod not in pods


@pytest.fixture
def quarantine() -> Quarantine:
    """Return one whose file source has listed two good pods."""
    quarantine = Quarantine()
    with quarantine.attempt(FILE, (WEB, SHOP)):
        pass
    return quarantine


def crash(quarantine: Quarantine, *pods: Pod) -> None:
    """Die while taking ``pods`` in, and begin a new life."""
    with pytest.raises(ZeroDivisionError), quarantine.attempt(FILE, pods):
        raise ZeroDivisionError
    assert quarantine.blame() == FILE


def test_nobody_is_blamed_for_a_crash_outside_of_attempts(quarantine: Quarantine) -> None:
    assert quarantine.blame() is None
    assert Quarantine().blame() is None


def test_a_source_that_never_crashed_anybody_is_trusted_and_costs_nothing(
    quarantine: Quarantine,
) -> None:
    listed = (WEB_2,)
    assert quarantine.admitted(FILE, listed, poisonous(WEB_2)) is listed


def test_blame_is_drawn_once(quarantine: Quarantine) -> None:
    crash(quarantine, WEB_2)
    assert quarantine.blame() is None


def test_after_a_crash_what_fails_alone_is_kept_out(quarantine: Quarantine) -> None:
    crash(quarantine, WEB_2, SHOP_2)
    assert quarantine.admitted(FILE, (WEB_2, SHOP_2), poisonous(WEB_2)) == (SHOP_2, WEB)
    assert quarantine.rejected(FILE) == {WEB.uid: "taking it in has crashed the pod manager"}


def test_the_source_of_another_listing_is_not_suspect(quarantine: Quarantine) -> None:
    crash(quarantine, WEB_2)
    listed = (WEB_2,)
    assert quarantine.admitted(HTTP, listed, poisonous(WEB_2)) is listed
    assert quarantine.rejected(HTTP) == {}


def test_good_pods_are_not_tried_again(quarantine: Quarantine) -> None:
    crash(quarantine, WEB, SHOP_2)
    assert quarantine.admitted(FILE, (WEB, SHOP), poisonous(WEB, SHOP)) == (WEB, SHOP)


def test_a_pod_without_a_good_version_is_kept_out_without_a_substitute() -> None:
    quarantine = Quarantine()
    crash(quarantine, WEB)
    assert quarantine.admitted(FILE, (WEB,), poisonous(WEB)) == ()


def test_a_good_version_is_found_by_its_name_when_the_uid_changed(quarantine: Quarantine) -> None:
    # The UID of a static pod is a digest of its manifest.
    edited = make_pod("web", uid="another")
    crash(quarantine, edited, SHOP)
    assert quarantine.admitted(FILE, (edited, SHOP), poisonous(edited)) == (SHOP, WEB)


@pytest.mark.parametrize(
    "other",
    [make_pod("other", uid=WEB.uid), make_pod("web", uid="other")],
    ids=["UID", "name"],
)
def test_a_good_version_gives_way_to_whoever_has_its_place(
    quarantine: Quarantine, other: Pod
) -> None:
    poison = make_pod("web", uid=WEB.uid, image="web:2")
    crash(quarantine, poison, other)
    assert quarantine.admitted(FILE, (poison, other), poisonous(poison)) == (other,)


def test_one_good_version_stands_in_once(quarantine: Quarantine) -> None:
    poison = (WEB_2, make_pod("web", uid="another"))
    crash(quarantine, *poison)
    assert quarantine.admitted(FILE, poison, poisonous(*poison)) == (WEB,)


def test_a_version_that_is_kept_out_is_not_tried_again(quarantine: Quarantine) -> None:
    crash(quarantine, WEB_2, SHOP)
    quarantine.admitted(FILE, (WEB_2, SHOP), poisonous(WEB_2))
    assert quarantine.admitted(FILE, (WEB_2, SHOP), harmless) == (SHOP, WEB)


def test_a_mended_version_is_admitted(quarantine: Quarantine) -> None:
    crash(quarantine, WEB_2, SHOP)
    quarantine.admitted(FILE, (WEB_2, SHOP), poisonous(WEB_2))
    mended = make_pod("web", image="web:3")
    assert quarantine.admitted(FILE, (mended, SHOP), poisonous(WEB_2)) == (mended, SHOP)
    assert quarantine.rejected(FILE) == {}


def test_what_is_not_listed_any_more_is_forgotten(quarantine: Quarantine) -> None:
    crash(quarantine, WEB_2, SHOP)
    quarantine.admitted(FILE, (WEB_2, SHOP), poisonous(WEB_2))
    assert quarantine.admitted(FILE, (SHOP,), harmless) == (SHOP,)
    assert quarantine.admitted(FILE, (WEB_2, SHOP), harmless) == (WEB_2, SHOP)


def test_a_suspect_source_stays_suspect(quarantine: Quarantine) -> None:
    # So that poison that is edited again and again costs one crash in all.
    crash(quarantine, WEB_2)
    with quarantine.attempt(FILE, (WEB, SHOP)):
        pass
    assert quarantine.admitted(FILE, (WEB, SHOP_2), poisonous(SHOP_2)) == (WEB, SHOP)


def test_what_crashes_only_as_a_whole_is_kept_out_as_a_whole(quarantine: Quarantine) -> None:
    crash(quarantine, WEB_2, SHOP_2)
    assert quarantine.admitted(FILE, (WEB_2, SHOP_2), harmless) == (WEB_2, SHOP_2)
    crash(quarantine, WEB_2, SHOP_2)
    assert quarantine.admitted(FILE, (WEB_2, SHOP_2), harmless) == (WEB, SHOP)
    assert quarantine.rejected(FILE).keys() == {WEB.uid, SHOP.uid}


def test_crashes_count_in_a_row(quarantine: Quarantine) -> None:
    # A crash that had nothing to do with the listing must not cost a good pod months later.
    crash(quarantine, WEB_2, SHOP)
    with quarantine.attempt(FILE, (WEB_2, SHOP)):
        pass
    crash(quarantine, WEB_2, SHOP_2)
    assert quarantine.admitted(FILE, (WEB_2, SHOP_2), harmless) == (WEB_2, SHOP_2)


def test_a_trial_that_never_ends_is_a_crash_of_its_pod_alone(quarantine: Quarantine) -> None:
    def hanging(pod: Pod) -> bool:
        assert pod is not WEB_2  # in place of a hang
        return True

    crash(quarantine, WEB_2, SHOP_2)
    with pytest.raises(AssertionError):
        quarantine.admitted(FILE, (WEB_2, SHOP_2), hanging)
    assert quarantine.blame() == FILE
    assert quarantine.admitted(FILE, (WEB_2, SHOP_2), hanging) == (SHOP_2, WEB)


def test_where_nothing_is_new_nothing_is_kept_out(quarantine: Quarantine) -> None:
    # Then what outlives crashes is to blame, and failing has to go on until the process ends.
    crash(quarantine, WEB, SHOP)
    crash(quarantine, WEB, SHOP)
    assert quarantine.admitted(FILE, (WEB, SHOP), harmless) == (WEB, SHOP)
    assert quarantine.rejected(FILE) == {}


def test_a_pod_whose_uid_cannot_be_hashed_is_kept_out_like_any_other() -> None:
    uid: Any = ["no", "text"]
    poison = Pod(document={"metadata": {}, "spec": {}}, uid=uid, namespace="default", name="odd")
    quarantine = Quarantine()
    crash(quarantine, poison, WEB)
    assert quarantine.admitted(FILE, (poison, WEB), poisonous(poison)) == (WEB,)
    assert quarantine.rejected(FILE).keys() == {PodUid("['no', 'text']")}


def test_the_record_shows_no_content(quarantine: Quarantine) -> None:
    secret = make_pod("web", spec={"containers": [{"env": [{"value": "hunter2"}]}]})
    crash(quarantine, secret)
    assert uid_of("web") in repr(quarantine)
    assert "hunter2" not in repr(quarantine)
