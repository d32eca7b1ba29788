"""Stories of Secrets and ConfigMaps: what is given of them, and who follows them."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, Final

from tests.environment.mounts import Bind, BindMounts
from tests.environment.oracle.objects import Given
from tests.environment.oracle.rule import API
from tests.environment.oracle.volumes import PartStays
from tests.environment.oracle.watchers import HOLDERS, OneWatcher
from tests.simulation.rules.by_hand import OneRule, Stories, container
from tests.support.apiserver.paths import POD
from tests.support.canary import hidden

HOLDER: Final = f"{HOLDERS}secrets/default/keys"


def reads(*, is_optional: bool = False) -> dict[str, Any]:
    """Return a container with a variable of a Secret."""
    key = {"name": "keys", "key": "value", "optional": is_optional}
    return container(env=[{"name": "A", "valueFrom": {"secretKeyRef": key}}])


def says(world: OneRule, *numbers: int) -> None:
    """Have the Secret say these values, a minute each."""
    for each in numbers:
        world.rule.objects_say(API, "Secret", "keys", f"keys-{each}")
        world.passes(60.0)


def given(number: int) -> tuple[bytes, ...]:
    """Return what is in the environment of a container that was given a value."""
    return (hidden(f"keys-{number}").encode(),)


def it_said_so_since_the_pod_was_there(world: OneRule, *, is_fine: bool) -> None:
    says(world, 1, *((2,) if not is_fine else ()))
    world.wants(is_bound=True)
    says(world, 3)
    world.starts(given=given(1))


def it_was_not_given_more(world: OneRule, *, is_fine: bool) -> None:
    world.wants(is_bound=True)
    says(world, 1, 2)
    world.starts(given=given(1 if is_fine else 2))
    world.starts(given=given(1))


def the_variable_is_there(world: OneRule, *, is_fine: bool) -> None:
    world.wants(is_bound=True, containers=[reads()])
    says(world, 1)
    world.starts(given=given(1) if is_fine else (b"else",))


def the_variable_may_be_missing(world: OneRule, *, is_fine: bool) -> None:
    world.wants(is_bound=True, containers=[reads(is_optional=is_fine)])
    world.starts(given=(b"else",))


def a_pod_names_what_it_is_pulled_by(world: OneRule, *, is_fine: bool) -> None:
    world.wants(is_bound=True, imagePullSecrets=[{"name": "keys" if is_fine else "others"}])
    says(world, 1)
    world.rule.pulls(hidden("keys-1"))


def the_pod_has_just_gone(world: OneRule, *, is_fine: bool) -> None:
    world.wants(is_bound=True, imagePullSecrets=[{"name": "keys"}])
    says(world, 1)
    world.unwants()
    world.passes(59.0 if is_fine else 60.0)
    world.rule.pulls(hidden("keys-1"))


def a_part_is_of_what_it_said(world: OneRule, *, is_fine: bool) -> None:
    says(world, 1, 2)
    world.wants(is_bound=True)
    with tempfile.TemporaryDirectory() as folder:
        part = Path(folder) / "part"
        part.write_text(hidden(f"keys-{2 if is_fine else 1}"))
        world.starts(parts=(str(part),))


def mounts(world: OneRule, folder: str, uid: str = "a-1") -> Path:
    """Have a container mount a part of a volume of this pod. Return the file."""
    part, binds = Path(folder) / "part", BindMounts()
    part.write_text("before")
    binds.binds[str(part)] = Bind(1, f"/root/pods/{uid}/volumes/v/file")
    world.runtime.mounts = binds
    world.starts(parts=(str(part),))
    return part


def the_volume_is_of_its_pod(world: OneRule, *, is_fine: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        mounts(world, folder, "a-1" if is_fine else "b-1")


def ends_with(world: OneRule, text: str) -> None:
    """Have something else written into the part that a container mounts, and the container end."""
    with tempfile.TemporaryDirectory() as folder:
        mounts(world, folder).write_text(text)
        world.ends_all()


def the_file_stays(world: OneRule, *, is_fine: bool) -> None:
    ends_with(world, "before" if is_fine else "after")


def the_power_goes(world: OneRule, *, is_fine: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        mounts(world, folder).unlink()
        if is_fine:
            world.rule.loses_power()
        world.ends_all()


def references(
    world: OneRule, *, is_gone: bool = False, volume: bool = False, **status: Any
) -> None:
    """Have a pod of the API server name the Secret, or be gone."""
    volumes = [{"name": "v", "secret": {"secretName": "keys"}}] if volume else []
    pod = world.wants(is_bound=True, containers=[reads()], volumes=volumes, nodeName="node1")
    after = {**pod.document, "status": status}
    world.changes(POD, None, after, is_agents=False, is_gone=is_gone)


def it_has_an_actor(world: OneRule, *, is_fine: bool) -> None:
    references(world)
    world.passes(61.0)
    world.rule.works_with([HOLDER] if is_fine else [])


def the_reference_is_new(world: OneRule, *, is_fine: bool) -> None:
    references(world)
    world.passes(59.9 if is_fine else 60.1)
    world.rule.works_with([])


def nobody_has_read_it_for_a_while(world: OneRule, *, is_fine: bool) -> None:
    references(world)
    world.passes(301.0 if is_fine else 299.0)
    world.rule.works_with([])


def no_volume_of_what_runs_shows_it(world: OneRule, *, is_fine: bool) -> None:
    world.runtime.makes_volumes = True
    references(world, volume=not is_fine)
    world.starts()
    world.passes(301.0)
    world.rule.works_with([])


def nobody_references_it_any_more(world: OneRule, *, is_fine: bool) -> None:
    references(world)
    if is_fine:
        references(world, is_gone=True)
    world.passes(61.0)
    world.rule.works_with([])


def its_pod_has_ended(world: OneRule, *, is_fine: bool) -> None:
    references(world, phase="Failed" if is_fine else "Running")
    world.passes(61.0)
    world.rule.works_with([])


def there_was_trouble(world: OneRule, *, is_fine: bool) -> None:
    references(world)
    world.passes(100.0)
    world.wishes.troubled_at = world.now - (60.0 if is_fine else 61.0)
    world.rule.works_with([])


def somebody_references_it(world: OneRule, *, is_fine: bool) -> None:
    if is_fine:
        references(world)
    world.passes(61.0)
    world.rule.works_with([HOLDER])


def the_last_reference_has_just_gone(world: OneRule, *, is_fine: bool) -> None:
    references(world)
    references(world, is_gone=True)
    world.passes(60.0 if is_fine else 61.0)
    world.rule.works_with([HOLDER])


STORIES: Final[Stories] = {
    (Given, "which was over before it"): (
        *(it_said_so_since_the_pod_was_there, a_part_is_of_what_it_said),
    ),
    (Given, "and was given more"): (it_was_not_given_more,),
    (Given, "starts without keys"): (the_variable_is_there, the_variable_may_be_missing),
    (Given, "which was over before any pod named it"): (
        *(a_pod_names_what_it_is_pulled_by, the_pod_has_just_gone),
    ),
    (PartStays, "main of a-1 mounts"): (the_volume_is_of_its_pod,),
    (PartStays, "and had before"): (the_file_stays, the_power_goes),
    (OneWatcher, "no actor is there for"): (
        *(it_has_an_actor, the_reference_is_new, nobody_has_read_it_for_a_while),
        *(no_volume_of_what_runs_shows_it, nobody_references_it_any_more, its_pod_has_ended),
        there_was_trouble,
    ),
    (OneWatcher, "which nobody references"): (
        *(somebody_references_it, the_last_reference_has_just_gone),
    ),
}
