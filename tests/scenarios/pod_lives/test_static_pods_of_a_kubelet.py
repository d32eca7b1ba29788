"""Static pods that a kubelet left running, under UIDs that no source tells."""

from structlog.testing import capture_logs

from actors.pods.keeper_parts import POD_KEEPER
from messages.pods import FILE, PodUid
from tests.support.builders import make_pod
from tests.support.pod_lives.lives_stage import LivesWorld, lives_stage


def test_they_are_replaced_one_after_the_other_and_the_log_says_so_beforehand() -> None:
    world = LivesWorld()
    for name in ("etcd", "web"):
        old = make_pod(name, uid=f"k-{name}")
        world.machine.has_running(old)
        world.machine.foreign.add(old.uid)
        world.machine.stubborn.add(old.uid)
    spec = {"terminationGracePeriodSeconds": 7}
    new = [make_pod(name, uid=f"n-{name}", spec=spec) for name in ("etcd", "web")]
    with capture_logs() as lines, lives_stage(world=world) as lives:
        lives.lists(FILE, *new)
        assert lives.commanded() == ["stop etcd 7"]
        lives.play.advance(6.0)
        assert world.machine.running() == ["etcd/main", "web/main"]
        lives.play.advance(1.5)
        assert world.machine.running() == ["etcd/main", "web/main"]
        assert PodUid("n-etcd") in world.machine.pods
        assert lives.commanded() == ["forget etcd", "run etcd"]
        lives.play.advance(1.0)
        assert lives.commanded() == ["stop web 7"]
        lives.play.advance(9.0)
        assert set(world.machine.pods) == {"n-etcd", "n-web"}
    said = [line for line in lines if "are stopped and started once" in line["event"]]
    assert [line["pods"] for line in said] == [["default/etcd", "default/web"]]


def test_a_crash_of_the_keeper_in_between_changes_nothing() -> None:
    world = LivesWorld()
    for name in ("etcd", "web"):
        old = make_pod(name, uid=f"k-{name}")
        world.machine.has_running(old)
        world.machine.foreign.add(old.uid)
    new = [make_pod(name, uid=f"n-{name}") for name in ("etcd", "web")]
    with lives_stage(world=world) as lives:
        lives.lists(FILE, *new)
        lives.crashes(POD_KEEPER.path)
        lives.play.advance(10.0)
        assert world.machine.running() == ["etcd/main", "web/main"]
        assert set(world.machine.pods) == {"n-etcd", "n-web"}
