"""Images that nobody uses are removed when the disk is full, or when they are too old."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from kernel import Port
from messages.container_runtime_health import DescribeImages, ImagesDescribed
from messages.units import Seconds
from runtimes.cri.images.garbage import DiskSpace, sandbox_image
from runtimes.cri.images.messages import IMAGE_KEEPER, ImageKeeperMessage
from runtimes.cri.images.options import GarbageOptions, ImageOptions
from tests.support.images.image_service import full, id_of
from tests.support.images.image_stage import ImageStage, image_id, image_stage

FULL = DiskSpace(100_000, 10_000)
"""90 %: 10,000 bytes are to be freed."""
ROOMY = DiskSpace(100_000, 16_000)
"""84 %."""


def options(maximum_age: float = 0.0, high: int = 85) -> ImageOptions:
    garbage = GarbageOptions(high_percent=high, maximum_age=Seconds(maximum_age))
    return ImageOptions(garbage=garbage, node="node-1")


def seen(stage: ImageStage) -> None:
    """Let the images that there are be seen, and then get old enough."""
    stage.play.advance(300.0)


def described(stage: ImageStage) -> ImagesDescribed:
    def question(reply_to: Port[ImagesDescribed]) -> ImageKeeperMessage:
        return DescribeImages(reply_to=reply_to)

    return stage.play.ask(IMAGE_KEEPER, question)


def ids(*names: str) -> list[str]:
    return [id_of(full(name)) for name in names]


@pytest.mark.parametrize(("available", "too_much"), [(16_000, 0), (15_001, 4_999), (15_000, 5_000)])
def test_images_go_from_the_high_threshold_itself_on(available: int, too_much: int) -> None:
    assert DiskSpace(100_000, available).too_much(GarbageOptions(high_percent=85)) == too_much


def test_a_disk_that_is_too_full_loses_images_until_there_is_room() -> None:
    with image_stage(options=options()) as stage:
        for name in ("a", "b", "c"):
            stage.service.store(name, size=6_000)
        seen(stage)
        stage.space = FULL
        stage.play.advance(299.0)
        assert stage.service.removals() == []
        stage.play.advance(1.0)
        assert len(stage.service.removals()) == 2
        assert len(stage.service.images) == 1
        assert described(stage).removed == {"space": 2}
        assert stage.said() == []


def test_a_disk_with_room_keeps_all_images() -> None:
    with image_stage(options=options()) as stage:
        stage.service.store("a")
        stage.space = ROOMY
        stage.play.advance(3600.0)
        assert stage.service.removals() == []


def test_the_image_that_was_used_last_goes_last() -> None:
    with image_stage(options=options()) as stage:
        for name in ("a", "b", "c"):
            stage.service.store(name, size=10_000)
        stage.service.containers["1"] = ids("a")[0]
        stage.play.advance(301.0)
        stage.service.containers = {"2": "b"}
        stage.play.advance(300.0)
        stage.service.containers.clear()
        stage.space = FULL
        for _ in range(3):
            stage.play.advance(300.0)
        assert stage.service.removals() == ids("c", "a", "b")


def test_what_is_in_use_pinned_or_of_sandboxes_is_never_removed() -> None:
    with image_stage(options=options(maximum_age=60.0)) as stage:
        used, named, pause = "used", "docker.io/library/named:1", "registry.k8s.io/pause:3.9"
        for name in (used, named, pause, "unused"):
            stage.service.store(name, size=1)
        stage.service.store("pinned", size=1, pinned=True)
        stage.service.containers = {"1": ids(used)[0], "2": "named:1"}
        stage.service.sandbox_image = pause
        stage.space = FULL
        stage.play.advance(1200.0)
        assert stage.service.removals() == ids("unused")
        assert described(stage).removed == {"age": 1}


def test_an_image_that_a_pod_was_just_told_of_stays() -> None:
    with image_stage(options=options()) as stage:
        stage.service.store("a", size=50_000)
        stage.service.store("b", size=50_000)
        seen(stage)
        stage.space = FULL
        stage.play.advance(200.0)
        assert image_id(stage.find("a"))
        stage.play.advance(100.0)
        assert stage.service.removals() == ids("b")
        stage.play.advance(600.0)
        assert stage.service.removals() == ids("b", "a")


def test_an_image_that_is_being_pulled_stays() -> None:
    with image_stage(options=options()) as stage:
        stage.service.store("a", size=50_000)
        stage.service.holds_pulls = True
        stage.ask("a")
        seen(stage)
        stage.space = FULL
        stage.play.advance(300.0)
        assert stage.service.removals() == []


def test_a_young_image_is_left_alone() -> None:
    with image_stage(options=options()) as stage:
        stage.play.advance(299.0)
        stage.service.store("a", size=50_000)
        stage.space = FULL
        stage.play.advance(1.0)
        assert stage.service.removals() == []
        stage.play.advance(300.0)
        assert stage.service.removals() == ids("a")


def test_images_that_were_not_used_for_too_long_go_however_much_room_there_is() -> None:
    with image_stage(options=options(maximum_age=1000.0, high=100)) as stage:
        stage.service.store("old")
        stage.service.store("used")
        stage.service.containers = {"1": ids("used")[0]}
        stage.play.advance(1490.0)
        assert stage.service.removals() == []
        stage.service.containers.clear()
        stage.play.advance(20.0)
        assert stage.service.removals() == ids("old")
        stage.play.advance(1200.0)
        assert stage.service.removals() == ids("old", "used")


def test_with_a_threshold_of_100_and_no_age_nobody_looks() -> None:
    with image_stage(options=options(high=100)) as stage:
        stage.play.advance(3600.0)
        assert stage.service.asked == []


# --- troubles -----------------------------------------------------------------------------------------------


def test_too_little_room_is_an_event_of_the_node_each_time_and_a_failure_the_second_time() -> None:
    with image_stage(options=options()) as stage:
        stage.service.store("a", size=1)
        seen(stage)
        stage.space = FULL
        stage.play.advance(600.0)
        reasons = [reason for reason, _ in stage.said()]
        assert reasons == ["FreeDiskSpaceFailed", "FreeDiskSpaceFailed", "ImageGCFailed"]
        stage.space = ROOMY
        stage.play.advance(300.0)
        stage.space = FULL
        stage.play.advance(300.0)
        event = stage.events.next()
        assert (event.regarding.kind, event.regarding.name) == ("Node", "node-1")
        assert event.message == (
            "Failed to garbage collect required amount of images. Attempted to free 10000 bytes, "
            "but only found 0 bytes eligible to free."
        )


def test_a_disk_without_a_size_is_said() -> None:
    with image_stage(options=options()) as stage:
        stage.space = DiskSpace(0, 0)
        stage.play.advance(300.0)
        assert ("InvalidDiskCapacity", "invalid capacity 0 on image filesystem") in stage.said()


def test_an_image_that_cannot_be_removed_does_not_keep_others() -> None:
    with image_stage(options=options()) as stage:
        stage.service.store("a", size=10_000)
        seen(stage)
        stage.space = FULL
        stage.service.broken["RemoveImage"] = "it is busy"
        stage.play.advance(300.0)
        assert stage.service.removals() == ids("a")
        stage.service.broken.clear()
        stage.play.advance(300.0)
        assert stage.service.removals() == ids("a", "a")
        assert described(stage).removed == {"space": 1}


def test_a_runtime_that_is_away_is_asked_again_later_and_is_no_line_of_its_own() -> None:
    with capture_logs() as lines, image_stage(options=options()) as stage:
        stage.service.away = True
        stage.play.advance(601.0)
        assert [reason for reason, _ in stage.said()] == ["ImageGCFailed"]
        stage.service.away = False
        stage.play.advance(300.0)
        assert stage.memory.collection_failures == 0
    assert [line for line in lines if line["log_level"] == "warning"] == []


def test_a_crash_begins_no_second_collection_and_forgets_no_use() -> None:
    with image_stage(options=options()) as stage:
        stage.service.store("a", size=50_000)
        stage.play.advance(200.0)
        stage.crash()
        stage.space = FULL
        stage.play.advance(300.0)
        assert stage.service.removals() == ids("a")


def test_a_file_system_that_hangs_is_given_up_until_the_next_time() -> None:
    with image_stage(options=options()) as stage:
        stage.service.store("a", size=50_000)
        seen(stage)
        stage.space = FULL
        stage.jobs.hangs = True
        stage.play.advance(300.0)
        stage.jobs.hangs = False
        stage.play.advance(600.0)
        assert stage.service.removals() == ids("a")


# --- figures ------------------------------------------------------------------------------------------------


def test_pulls_are_counted_by_the_size_of_the_image_and_by_how_long_they_took() -> None:
    with image_stage() as stage:
        stage.service.offer("small", size=10_000_000)
        stage.service.offer("large", size=2_000_000_000)
        stage.service.holds_pulls = True
        stage.ask("small")
        stage.ask("large")
        stage.ask("missing")
        assert described(stage).pulls_waiting == 2
        for _ in range(3):
            stage.play.advance(4.0)
            stage.service.let_go()
            stage.play.settle()
        figures = described(stage)
        assert {size: times.seconds for size, times in figures.pulls.items()} == {
            "0-10MB": 4.0,
            "1GB-5GB": 4.0,
        }
        assert figures.pulls["0-10MB"].buckets[:3] == (0, 1, 0)
        assert (figures.failed_pulls, figures.pulls_under_way) == (1, 0)


# --- what runtimes say --------------------------------------------------------------------------------------


def test_a_runtime_without_a_file_system_of_images_is_a_failure() -> None:
    with image_stage(options=options()) as stage:
        stage.service.has_file_system = False
        stage.play.advance(600.0)
        assert stage.said()[-1] == ("ImageGCFailed", "the runtime names no file system of images")


@pytest.mark.parametrize(
    ("config", "image"),
    [
        ('{"sandboxImage": "pause:3.9"}', "docker.io/library/pause:3.9"),
        ('{"sandboxImage": 7}', ""),
        ("[]", ""),
        ("{", ""),
        ("", ""),
    ],
)
def test_the_image_of_sandboxes_is_read_from_the_runtimes_configuration(
    config: str, image: str
) -> None:
    assert sandbox_image({"config": config}) == image
