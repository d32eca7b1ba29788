"""What becomes of the files of a manifest directory, look by look."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from files.looking.found import Listed
from files.verdicts.judging import judge
from files.verdicts.state import FileState
from manifests.pod_manifest import Decoded, ManifestRules, decode_manifest
from manifests.refusals import Refused
from manifests.verdicts import changes
from messages.pods import FILE
from messages.sources import ManifestVerdict, RejectReason, Verdict
from messages.units import Timestamp
from tests.support.builders import uid_of
from tests.support.files.manifest_files import (
    FIFO,
    LEFTOVER,
    NOON,
    Observer,
    manifest,
    names,
    reasons,
    the_pod,
    verdicts,
)

# --- the verdicts ---------------------------------------------------------------------------------


def test_a_good_manifest_is_accepted_and_its_pod_is_served(observer: Observer) -> None:
    seen = observer.sees(manifest("web.yaml", "name=web odd=yes"))

    assert names(seen) == ["web"]
    assert seen.verdicts == (
        ManifestVerdict(
            path="/manifests/web.yaml",
            verdict=Verdict.ACCEPTED,
            warnings=("is odd",),
            pod="default/web",
            uid=uid_of("web"),
        ),
    )


def test_a_bad_manifest_is_rejected_and_stops_no_other(observer: Observer) -> None:
    seen = observer.sees(manifest("bad.yaml", "rubbish"), manifest("web.yaml", "name=web"))

    assert names(seen) == ["web"]
    assert seen.verdicts[0] == ManifestVerdict(
        path="/manifests/bad.yaml",
        verdict=Verdict.REJECTED,
        reason="is no manifest",
        code=RejectReason.SYNTAX,
    )


def test_what_is_no_file_is_rejected_without_being_decoded(observer: Observer) -> None:
    seen = observer.sees(manifest("pipe", FIFO))

    assert names(seen) == []
    assert verdicts(seen) == {"pipe": Verdict.REJECTED}
    assert seen.verdicts[0].code is RejectReason.NOT_A_FILE
    assert observer.decoded == []


def test_an_ignored_name_has_a_verdict_and_no_pod(observer: Observer) -> None:
    seen = observer.sees(manifest("web.yaml~", LEFTOVER))

    assert names(seen) == []
    assert verdicts(seen) == {"web.yaml~": Verdict.IGNORED}
    assert reasons(seen) == {"web.yaml~": LEFTOVER.reason}


def test_an_empty_directory_is_an_empty_listing(observer: Observer) -> None:
    assert observer.sees().served == ()


def test_a_name_that_is_not_utf_8_can_still_be_written(observer: Observer) -> None:
    seen = observer.sees(manifest(os.fsdecode(b"w\xff.yaml"), "name=web"))

    assert seen.verdicts[0].path == r"/manifests/w\xff.yaml"


# --- nothing changes what did not change ------------------------------------------------------------


def test_an_unchanged_listing_changes_nothing_and_decodes_nothing(observer: Observer) -> None:
    listing = Listed(entries=(manifest("bad", "rubbish"), manifest("web", "name=web")))
    before = observer.hears(listing)
    observer.decoded.clear()

    after = observer.hears(listing, at=60)

    assert after.state is before.state
    assert observer.decoded == []


def test_a_file_read_again_with_the_same_content_is_not_decoded_again(observer: Observer) -> None:
    before = observer.sees(manifest("bad", "rubbish"), manifest("web", "name=web"))
    observer.decoded.clear()

    after = observer.sees(manifest("bad", "rubbish", written=-1), manifest("web", "name=web"))

    assert after.served is before.served
    assert observer.decoded == []


def test_a_change_leaves_the_pods_of_other_files_identical(observer: Observer) -> None:
    before = observer.sees(manifest("a", "name=a"), manifest("b", "name=b"))
    after = observer.sees(manifest("a", "name=a"), manifest("b", "name=b image=b:2"))

    assert before.served is not None
    assert after.served is not None
    assert after.served[0] is before.served[0]
    assert after.served[1] != before.served[1]


def test_an_edit_that_leaves_the_pod_equal_leaves_it_identical(observer: Observer) -> None:
    before = observer.sees(manifest("web", "name=web"))
    after = observer.sees(manifest("web", "name=web odd=comment"))

    assert after.served is before.served
    assert after.verdicts[0].warnings == ("is odd",)


# --- the last good content --------------------------------------------------------------------------


@pytest.mark.parametrize("broken", ["rubbish", "", FIFO], ids=["syntax", "empty", "fifo"])
def test_a_file_that_was_good_once_keeps_its_pod(observer: Observer, broken: str) -> None:
    # A kubelet removes the pod at its next listing.
    before = observer.sees(manifest("web", "name=web"))

    after = observer.sees_for_a_second(manifest("web", broken))

    assert after.served is before.served
    assert verdicts(after) == {"web": Verdict.KEPT}
    assert after.verdicts[0].code is not None
    assert after.verdicts[0].reason
    assert after.verdicts[0].uid == uid_of("web")


def test_a_mended_file_is_served_as_it_says(observer: Observer) -> None:
    observer.sees(manifest("web", "name=web"))
    observer.sees_for_a_second(manifest("web", "rubbish"))

    mended = observer.sees(manifest("web", "name=web image=web:2"))

    assert the_pod(mended).document["spec"]["containers"][0]["image"] == "web:2"
    assert verdicts(mended) == {"web": Verdict.ACCEPTED}


def test_a_file_that_breaks_twice_still_keeps_its_pod(observer: Observer) -> None:
    before = observer.sees(manifest("web", "name=web"))
    observer.sees_for_a_second(manifest("web", "rubbish"))

    assert observer.sees_for_a_second(manifest("web", ""), at=9).served is before.served


def test_a_removed_file_takes_its_pod_along_and_never_gives_it_back(observer: Observer) -> None:
    # A kubelet brings "a" back with the first file that is made afterwards (K3).
    observer.sees(manifest("a", "name=a"))
    observer.sees(at=1)
    assert names(observer.sees(at=2)) == []

    assert names(observer.sees(manifest("b", "name=b"), at=3)) == ["b"]


def test_a_broken_file_that_is_removed_takes_its_kept_pod_along(observer: Observer) -> None:
    observer.sees(manifest("web", "name=web"))
    observer.sees_for_a_second(manifest("web", "rubbish"))

    gone = observer.sees_for_a_second(at=2)

    assert names(gone) == []
    assert verdicts(gone) == {}


def test_a_rejected_file_that_is_removed_is_forgotten_at_once(observer: Observer) -> None:
    observer.sees(manifest("web", "rubbish"))

    gone = observer.sees()

    assert verdicts(gone) == {}
    assert gone.look_again_in is None


# --- news ---------------------------------------------------------------------------------------------------


def test_a_verdict_is_news_only_when_it_changes(observer: Observer) -> None:
    before = observer.sees(manifest("a", "name=a"), manifest("b", "name=b")).verdicts
    after = observer.sees_for_a_second(
        manifest("a", "name=a"), manifest("b", "rubbish"), manifest("c", "")
    ).verdicts

    assert changes((), before) == before
    assert changes(before, before) == ()
    assert changes(before, after) == after[1:]


# --- with real manifests -----------------------------------------------------------------------------------


def real_decode(data: bytes) -> Decoded | Refused:
    return decode_manifest(data, ManifestRules(node_name="Node-1", source=FILE))


def test_a_real_manifest_is_read_kept_and_mended() -> None:
    text = json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "web"},
            "spec": {"containers": [{"name": "web", "image": "registry.example/web:1"}]},
        }
    )
    good = judge(FileState(), listing_of(text), real_decode, now=NOON)
    doubtful = judge(good.state, listing_of(text[:-5]), real_decode, now=NOON)
    broken = judge(doubtful.state, listing_of(text[:-5]), real_decode, now=Timestamp(NOON + 1))
    mended = judge(broken.state, listing_of(text + "\n"), real_decode, now=Timestamp(NOON + 9))

    assert names(good) == ["web-node-1"]
    assert verdicts(broken) == {"web.json": Verdict.KEPT}
    assert verdicts(mended) == {"web.json": Verdict.ACCEPTED}
    assert broken.served is good.served
    assert mended.served is good.served


def test_a_pod_list_in_a_file_is_rejected() -> None:
    seen = judge(
        FileState(), listing_of('{"apiVersion": "v1", "kind": "PodList"}'), real_decode, now=NOON
    )

    assert seen.served == ()
    assert verdicts(seen) == {"web.json": Verdict.REJECTED}


def listing_of(text: str) -> Listed:
    return Listed(entries=(manifest("web.json", text),))


def test_no_repr_of_a_state_shows_what_is_in_a_file(observer: Observer) -> None:
    seen = observer.sees(manifest("web", "name=web image=hunter2"), manifest("bad", "hunter2"))

    assert "hunter2" not in repr(seen)


def test_the_path_of_a_verdict_is_that_of_the_file(observer: Observer) -> None:
    seen = observer.sees(manifest("web", "name=web"))

    assert Path(seen.verdicts[0].path) == Path("/manifests/web")
