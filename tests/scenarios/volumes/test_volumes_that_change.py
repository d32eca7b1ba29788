"""What volumes show when objects, pods and tokens change, and how often they are written for that."""

from __future__ import annotations

from actors.volumes.keeper import VOLUME_KEEPER
from actors.volumes.making.jobs import VolumeLane
from messages.objects import ObjectKind, ObjectValue, ReadVerdict
from messages.pods import Pod
from messages.tokens import TokenNeeded, TokensAre, WantTokens
from messages.units import Seconds
from tests.support.volumes.volume_stage import VolumeStage, pod_with

PW = ObjectKind.SECRET
CM = ObjectKind.CONFIG_MAP
SECRET = {"name": "s", "secret": {"secretName": "pw"}}
OPTIONAL = {"name": "s", "secret": {"secretName": "pw", "optional": True}}
CONFIG = {"name": "c", "configMap": {"name": "conf"}}
LABELS = {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}
DOWNWARD = {"name": "d", "downwardAPI": {"items": [LABELS]}}
TOKEN = {
    "name": "kube-api-access-x",
    "projected": {
        "sources": [
            {"serviceAccountToken": {"path": "token", "expirationSeconds": 3607}},
            {"configMap": {"name": "conf"}},
        ]
    },
}
UNFETCHED = "failed to fetch token"
NO_TOKENS = "nobody issues tokens for this pod"
NEEDED = TokenNeeded(audience="", expiration_seconds=3607, path="token")


def labelled(pod: Pod, **labels: str) -> Pod:
    metadata = {**pod.document["metadata"], "labels": labels}
    return Pod.of({**pod.document, "metadata": metadata})


def test_a_secret_that_is_deleted_stays_in_the_files_and_the_pod_says_so(
    volumes: VolumeStage,
) -> None:
    volumes.puts(PW, "pw", user="me")
    pod = pod_with("web", SECRET)
    volumes.wants(pod)
    volumes.passes(1.0)
    volumes.deletes(PW, "pw")
    told = volumes.seen(pod)
    assert told.volumes.keys() == {"s"}
    assert told.troubles["s"].message == 'secret "pw" not found'
    assert volumes.files(pod, "secret", "s") == {"user": b"me"}
    why = 'MountVolume.SetUp failed for volume "s" : secret "pw" not found'
    assert volumes.said() == [f"FailedMount: {why}"]
    volumes.passes(60.0)
    assert volumes.said() == []


def test_an_optional_secret_is_written_when_it_appears_and_emptied_when_it_goes(
    volumes: VolumeStage,
) -> None:
    pod = pod_with("web", OPTIONAL)
    told = volumes.wants(pod)
    assert told.volumes.keys() == {"s"}
    assert not told.troubles
    assert volumes.files(pod, "secret", "s") == {}
    volumes.passes(1.0)
    volumes.puts(PW, "pw", user="me")
    assert volumes.files(pod, "secret", "s") == {"user": b"me"}
    volumes.passes(1.0)
    volumes.deletes(PW, "pw")
    assert volumes.files(pod, "secret", "s") == {}
    assert [*volumes.seen(pod).shown.values()] == [""]
    assert volumes.said() == []


def test_a_secret_that_changes_all_the_time_is_written_ten_times_a_second_and_the_last_counts(
    volumes: VolumeStage,
) -> None:
    volumes.puts(PW, "pw", n="first")
    pod = pod_with("web", SECRET)
    volumes.wants(pod)
    volumes.passes(1.0)
    before = volumes.memory.counts.writes
    for number in range(1000):
        volumes.puts(PW, "pw", n=str(number))
        volumes.passes(0.01)
    assert 90 <= volumes.memory.counts.writes - before <= 101
    volumes.passes(0.1)
    assert volumes.files(pod, "secret", "s") == {"n": b"999"}


def test_what_changes_while_a_write_is_under_way_is_written_next(volumes: VolumeStage) -> None:
    volumes.puts(PW, "pw", n="1")
    pod = pod_with("web", SECRET)
    volumes.wants(pod)
    volumes.passes(1.0)
    volumes.lanes.is_paused = True
    volumes.puts(PW, "pw", n="2")
    volumes.puts(PW, "pw", n="3")
    newest = volumes.puts(PW, "pw", n="4")
    assert len(volumes.lanes.waiting) == 1
    volumes.writes()
    assert volumes.files(pod, "secret", "s") == {"n": b"2"}
    volumes.lanes.is_paused = False
    volumes.passes(0.2)
    assert volumes.files(pod, "secret", "s") == {"n": b"4"}
    assert [*volumes.seen(pod).shown.values()] == [newest.resource_version]


def test_old_files_go_a_moment_after_new_ones_are_there(volumes: VolumeStage) -> None:
    volumes.puts(PW, "pw", n="1")
    pod = pod_with("web", SECRET)
    volumes.wants(pod)
    volumes.passes(1.0)
    volumes.puts(PW, "pw", n="2")
    assert len([*volumes.place(pod, "secret", "s").glob("..2*")]) == 2
    volumes.passes(0.06)
    assert len([*volumes.place(pod, "secret", "s").glob("..2*")]) == 1


def test_the_files_of_a_pods_labels_follow_the_pod(volumes: VolumeStage) -> None:
    pod = labelled(pod_with("web", DOWNWARD), tier="web")
    volumes.wants(pod)
    assert volumes.files(pod, "downward-api", "d") == {"labels": b'tier="web"'}
    volumes.passes(1.0)
    volumes.wants(labelled(pod, tier="db"))
    assert volumes.files(pod, "downward-api", "d") == {"labels": b'tier="db"'}


def test_another_version_of_a_pod_that_shows_nothing_of_itself_writes_nothing(
    volumes: VolumeStage,
) -> None:
    volumes.puts(PW, "pw", user="me")
    pod = pod_with("web", SECRET, {"name": "e", "emptyDir": {}})
    volumes.wants(pod)
    volumes.passes(1.0)
    jobs = len(volumes.lanes.lanes)
    volumes.wants(labelled(pod, tier="db"))
    volumes.passes(1.0)
    assert len(volumes.lanes.lanes) == jobs


def test_a_new_pod_waits_a_second_for_a_look_of_its_own_and_goes_on_with_what_is_known(
    volumes: VolumeStage,
) -> None:
    volumes.puts(PW, "pw", user="me")
    volumes.wants(pod_with("first", SECRET))
    volumes.objects.is_silent = True
    second = pod_with("second", SECRET)
    told = volumes.wants(second)
    volumes.passes(0.9)
    assert told.pending == {"s"}
    assert volumes.objects.taken == []
    volumes.passes(0.2)
    assert volumes.seen(second).volumes.keys() == {"s"}
    (taken,) = volumes.objects.taken
    assert (taken.pod, taken.verdict) == (second.uid, ReadVerdict.FOUND)
    assert taken.resource_version == volumes.objects.values[PW, "pw"].resource_version


def test_pods_that_have_files_see_a_change_while_a_new_pod_waits_for_a_look(
    volumes: VolumeStage,
) -> None:
    volumes.puts(PW, "pw", user="me")
    first, second = pod_with("first", SECRET), pod_with("second", SECRET)
    volumes.wants(first)
    volumes.passes(0.5)
    volumes.objects.is_silent = True
    volumes.wants(second)
    volumes.puts(PW, "pw", user="you")
    assert volumes.files(first, "secret", "s") == {"user": b"you"}
    assert volumes.seen(second).pending == {"s"}
    volumes.objects.is_silent = False
    third = pod_with("third", SECRET)
    volumes.wants(third)  # its look is asked for once the one before is over
    volumes.passes(1.1)
    assert volumes.seen(third).volumes.keys() == {"s"}
    assert [each.pod for each in volumes.objects.taken] == [second.uid]


def test_a_new_pod_of_which_nothing_is_told_waits_on(volumes: VolumeStage) -> None:
    volumes.objects.is_silent = True
    pod = pod_with("web", SECRET)
    told = volumes.wants(pod)
    volumes.passes(20.0)
    assert told.pending == {"s"}
    volumes.objects.values[PW, "pw"] = ObjectValue(uid="u", resource_version="1", data={"a": b"b"})
    volumes.objects.is_silent = False
    volumes.passes(1.1)
    assert volumes.seen(pod).volumes.keys() == {"s"}
    assert volumes.objects.taken == []


def test_a_volume_waits_for_its_tokens_and_shows_each_new_one(volumes: VolumeStage) -> None:
    volumes.puts(CM, "conf", ca="x")
    pod = pod_with("web", TOKEN)
    told = volumes.wants(pod)
    assert told.pending == {"kube-api-access-x"}
    asked = volumes.tokens.next()
    assert isinstance(asked, WantTokens)
    assert asked.wanted == {NEEDED}
    volumes.play.tell(VOLUME_KEEPER, TokensAre(uid=pod.uid, tokens={NEEDED: b"one"}))
    files = volumes.files(pod, "projected", "kube-api-access-x")
    assert files == {"token": b"one", "ca": b"x"}
    volumes.passes(1.0)
    volumes.play.tell(VOLUME_KEEPER, TokensAre(uid=pod.uid, tokens={NEEDED: b"two"}))
    files = volumes.files(pod, "projected", "kube-api-access-x")
    assert files == {"token": b"two", "ca": b"x"}


def test_a_token_that_cannot_be_had_is_the_trouble_of_its_volume(volumes: VolumeStage) -> None:
    volumes.puts(CM, "conf", ca="x")
    pod = pod_with("web", TOKEN)
    volumes.wants(pod)
    volumes.play.tell(VOLUME_KEEPER, TokensAre(uid=pod.uid, troubles={NEEDED: "403: no"}))
    trouble = volumes.seen(pod).troubles["kube-api-access-x"]
    assert trouble.message == "failed to fetch token: 403: no"


def test_where_nobody_issues_tokens_a_volume_that_shows_one_has_a_trouble(
    volumes: VolumeStage,
) -> None:
    volumes.has_tokens = False
    volumes.crashes()
    volumes.puts(CM, "conf", ca="x")
    pod = pod_with("web", TOKEN)
    told = volumes.wants(pod)
    assert (told.volumes, told.pending) == ({}, frozenset())
    assert told.troubles.keys() == {"kube-api-access-x"}
    assert volumes.said() == [
        f'FailedMount: MountVolume.SetUp failed for volume "kube-api-access-x" : {UNFETCHED}: {NO_TOKENS}'
    ]


def test_files_that_are_there_count_while_nobody_can_read_what_they_show(
    volumes: VolumeStage,
) -> None:
    volumes.puts(PW, "pw", user="me")
    volumes.puts(CM, "conf", a="b")
    pod = pod_with("web", SECRET, CONFIG)
    volumes.wants(pod)
    volumes.next_process()
    volumes.objects.unread = {
        (PW, "pw"): ReadVerdict.NOT_SYNCED,
        (CM, "conf"): ReadVerdict.NOT_SYNCED,
    }
    told = volumes.wants(pod)
    assert told.volumes.keys() == {"s", "c"}
    assert told.troubles.keys() == {"s", "c"}
    assert not told.shown
    assert volumes.said() == []
    assert volumes.files(pod, "secret", "s") == {"user": b"me"}
    volumes.objects.unread = {}
    volumes.passes(13.0)
    assert not volumes.seen(pod).troubles


def test_volumes_are_written_on_the_threads_that_are_for_them(volumes: VolumeStage) -> None:
    volumes.puts(PW, "pw", user="me")
    volumes.puts(CM, "conf", a="b")
    host = {"name": "h", "hostPath": {"path": "/"}}
    memory = {"name": "m", "emptyDir": {"medium": "Memory"}}
    volumes.wants(pod_with("web", SECRET, CONFIG, host, memory, {"name": "e", "emptyDir": {}}))
    memory_lane, disk, node = VolumeLane.MEMORY, VolumeLane.DISK, VolumeLane.NODE
    assert sorted(volumes.lanes.lanes) == sorted([memory_lane, disk, node, memory_lane, disk])


def test_volumes_that_nothing_happens_to_cost_one_look_a_minute_at_all_of_them(
    volumes: VolumeStage,
) -> None:
    volumes.puts(PW, "pw", user="me")
    for name in ("web", "db", "mail"):
        volumes.wants(pod_with(name, SECRET, {"name": "e", "emptyDir": {}}))
    volumes.passes(20.0)
    made = len(volumes.lanes.lanes)
    volumes.passes(3600.0)
    assert volumes.lanes.lanes[made:] == [VolumeLane.DISK] * 60
    assert volumes.described().writes == 3


def test_where_nobody_tells_changes_objects_are_read_as_often_as_a_kubelet_reads_them(
    volumes: VolumeStage,
) -> None:
    volumes.reads_every = Seconds(60.0)
    volumes.crashes()
    volumes.puts(PW, "pw", user="me")
    pod = pod_with("web", SECRET)
    volumes.wants(pod)
    volumes.objects.is_untold = True
    volumes.puts(PW, "pw", user="you")
    volumes.passes(50.0)
    assert volumes.files(pod, "secret", "s") == {"user": b"me"}
    volumes.passes(75.0)
    assert volumes.files(pod, "secret", "s") == {"user": b"you"}
