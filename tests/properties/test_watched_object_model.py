"""A watched object in a world where everything lags, fails, crashes and comes in any order.

Whatever happens: what a look proves is no older than the newest reference, the watch is there exactly when it
is needed, and in the end everybody knows what the API server has.
"""

from __future__ import annotations

import base64

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kernel import Backoff
from messages.holders import (
    HolderBegan,
    HolderDone,
    HolderFact,
    HolderIdle,
    Mark,
    ReferencesAre,
    StopIfIdle,
)
from messages.objects import (
    Change,
    ChangeMissed,
    HeldObject,
    ObjectChanged,
    ObjectState,
    ObjectValue,
    ReadVerdict,
)
from messages.units import Instant, Seconds, Timestamp
from stores.objects.watched import WatchedObject
from stores.objects.watcher_memory import (
    AskList,
    Effect,
    Inform,
    StartWatch,
    StopWatch,
    WatcherMemory,
    WatcherRules,
)
from tests.support.canary import revealed
from tests.support.objects.watcher_stage import WANTED
from tests.support.worlds.watched import AWAY, Keeper, Listing, Server

RULES = WatcherRules(
    idle_limit=Seconds(60.0),
    open_within=Backoff(initial=Seconds(5.0), cap=Seconds(8.0), jitter=Seconds(0.0)).delay,
    retry=Backoff(initial=Seconds(0.1), cap=Seconds(5.0), jitter=Seconds(0.0)).delay,
)
WATCHING = {ObjectState.INITIALISING, ObjectState.SYNCED}


class WatchedObjectModel(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.server = Server()
        self.keeper = Keeper(self.server)
        self.memory = WatcherMemory(WANTED)
        self.watched = WatchedObject(self.memory, RULES)
        self.time = 0.0
        self.pods: dict[int, int] = {}
        """Marks of those that reference the object, and the state of the server at that time."""
        self.newest = 0
        self.is_followed = False
        self.newest_at = 0
        """The state of the server when the newest reference came."""
        self.waiting: dict[int, int] = {}
        """The looks that followers want by their numbers, with the state that is new enough for each."""
        self.looks = 0
        self.wanted = 0
        """The number of the last one; 0 while nobody follows the level."""
        self.told: ObjectChanged | None = None
        """The last change, which says what the manager takes the object for."""
        self.questions = 0
        self.idle = 0
        """The number of the last question that was answered."""

    # --- the server ------------------------------------------------------------------------------------

    @rule(immutable=st.sampled_from([False, False, True]))
    def is_written(self, *, immutable: bool) -> None:
        document = self.server.present.document
        if document is None or not document["immutable"]:
            self.keeper.changes(self.server.put(immutable=immutable))

    @precondition(lambda self: self.server.present.document)
    @rule()
    def is_deleted(self) -> None:
        self.keeper.changes(self.server.remove())

    @precondition(lambda self: self.server.present.document)
    @rule(immutable=st.booleans())
    def is_made_anew(self, *, immutable: bool) -> None:
        self.keeper.changes(self.server.remove())
        self.keeper.changes(self.server.put(uid=f"u{self.server.index}", immutable=immutable))

    @rule(back=st.integers(1, 4))
    def is_restored(self, back: int) -> None:
        """From a backup: every connection is cut, and what was promised before is void."""
        self.server.restore(back)
        self.pods = dict.fromkeys(self.pods, 0)
        self.newest_at = 0
        self.waiting = dict.fromkeys(self.waiting, 0)
        self.keeper.lists = type(self.keeper.lists)(
            Listing(asked.mark) for asked in self.keeper.lists
        )
        if self.keeper.is_watching:
            self.keeper.cut()
            self.keeper.relist()

    # --- the keeper ------------------------------------------------------------------------------------

    @precondition(lambda self: self.keeper.listing)
    @rule()
    def a_list_of_the_watch_is_found(self) -> None:
        assert self.keeper.listing is not None
        self.keeper.find(self.keeper.listing)

    @precondition(lambda self: self.keeper.listing)
    @rule()
    def a_list_of_the_watch_is_answered(self) -> None:
        self.keeper.answer()

    @precondition(lambda self: self.keeper.is_watching)
    @rule()
    def the_watch_is_cut(self) -> None:
        self.keeper.cut()

    @precondition(lambda self: self.keeper.is_open)
    @rule()
    def the_stream_is_lost_in_silence(self) -> None:
        self.keeper.lose(self.now.monotonic)

    @precondition(lambda self: self.keeper.lost_at is not None)
    @rule()
    def the_keeper_says_that_the_stream_is_lost(self) -> None:
        self.keeper.doubt()

    @precondition(
        lambda self: (
            (self.keeper.is_failing or self.keeper.lost_at is not None) and not self.keeper.listing
        )
    )
    @rule(repeats=st.integers(0, 2))
    def the_watch_goes_on(self, repeats: int) -> None:
        # What is repeated must be of the time after a restoring.
        behind = self.server.past[self.keeper.at - repeats : self.keeper.at + 1]
        is_sound = self.keeper.at >= repeats and all(state.event for state in behind)
        self.keeper.resume(repeats if is_sound else 0)

    @precondition(lambda self: self.keeper.is_watching and not self.keeper.listing)
    @rule()
    def the_watch_has_to_list_anew(self) -> None:
        self.keeper.relist()

    @precondition(lambda self: self.keeper.lists)
    @rule()
    def a_list_beside_the_watch_is_found(self) -> None:
        self.keeper.find(self.keeper.lists[0])

    @precondition(lambda self: self.keeper.lists)
    @rule(fails=st.sampled_from([False, False, True]))
    def a_list_beside_the_watch_is_answered(self, *, fails: bool) -> None:
        asked = self.keeper.lists[0]
        if asked.found is None:
            self.keeper.find(asked)
        assert asked.found is not None
        answer = self.keeper.list_answered(AWAY if fails else asked.found)
        self.watched.take_listed(answer, self.now)
        self.settle()

    @rule()
    def the_keeper_crashes(self) -> None:
        self.keeper.lists.clear()
        if self.keeper.is_watching:
            self.keeper.relist()

    # --- the wire --------------------------------------------------------------------------------------

    @precondition(lambda self: self.keeper.wire)
    @rule(count=st.integers(1, 4))
    def facts_arrive(self, count: int) -> None:
        for _ in range(min(count, len(self.keeper.wire))):
            self.watched.take_watched(self.keeper.wire.popleft(), self.now)
            self.settle()

    # --- the agent -------------------------------------------------------------------------------------

    @rule()
    def a_pod_references_it(self) -> None:
        self.newest += 1
        self.pods[self.newest] = self.newest_at = self.server.index
        self.tell_references()

    @precondition(lambda self: self.pods)
    @rule(data=st.data())
    def a_pod_goes(self, data: st.DataObject) -> None:
        del self.pods[data.draw(st.sampled_from(sorted(self.pods)))]
        self.tell_references()

    @precondition(lambda self: self.pods)
    @rule()
    def somebody_follows_it_or_goes(self) -> None:
        self.is_followed = not self.is_followed
        self.tell_references()

    @precondition(lambda self: self.pods)
    @rule()
    def a_follower_wants_a_look(self) -> None:
        self.looks += 1
        self.wanted = self.looks
        self.waiting[self.wanted] = self.newest_at
        self.tell_references()

    @precondition(lambda self: self.wanted)
    @rule()
    def nobody_follows_the_level_any_more(self) -> None:
        self.wanted = 0
        self.waiting.clear()
        self.tell_references()

    @rule(seconds=st.sampled_from([0.1, 1.0, 10.0, 61.0]))
    def time_passes(self, seconds: float) -> None:
        target = self.time + seconds
        while (due := self.watched.due(self.now)) is not None and due <= target:
            self.time = max(self.time, due)
            self.settle()
        self.time = target

    @rule(over=st.sampled_from(["nothing", "a fact", "an answer"]))
    def it_crashes(self, over: str) -> None:
        if over == "a fact" and self.keeper.wire:
            self.keeper.wire.popleft()
        if over == "an answer" and self.keeper.lists:
            self.keeper.lists.popleft()
        self.watched = WatchedObject(self.memory, RULES)
        self.watched.revive(self.now)
        self.carry_out()

    @rule()
    def it_is_stopped_and_lives_again(self) -> None:
        """Its supervisor failed. What is on the wire waits for the next life."""
        self.watched.give_up(self.now)
        self.carry_out()
        assert not self.keeper.is_watching
        self.watched = WatchedObject(self.memory, RULES)
        self.watched.revive(self.now)
        self.carry_out()

    @rule()
    def its_manager_stops_it_if_it_is_idle_and_it_lives_again_when_it_is_needed(self) -> None:
        self.questions += 1
        self.watched.take_stop(StopIfIdle(number=self.questions))
        self.settle()
        if self.idle == self.questions:
            self.keeper.wire.clear()
            self.keeper.lists.clear()
            self.it_is_stopped_and_lives_again()

    @precondition(lambda self: self.pods)
    @rule()
    def everything_comes_to_rest(self) -> None:
        self.a_follower_wants_a_look()
        for _ in range(15):
            self.come_closer_to_rest()
        assert self.waiting == {}
        # It may have become idle over a list that was lost.
        self.a_follower_wants_a_look()
        for _ in range(3):
            self.come_closer_to_rest()
        assert self.waiting == {}
        assert self.memory.state in {ObjectState.SYNCED, ObjectState.IMMUTABLE}
        assert self.memory.newest <= self.memory.proven
        assert self.memory.knowledge.known.current_until is None
        # What does not change by its own word may be deleted, and nobody asks until a pod comes.
        if self.memory.state is ObjectState.SYNCED:
            value, document = self.memory.knowledge.known.value, self.server.present.document
            assert (value and _index_of(value)) == (document and _index_in(document))

    # --- what holds always -----------------------------------------------------------------------------

    @invariant()
    def the_watch_is_there_exactly_when_it_is_needed(self) -> None:
        assert self.keeper.is_watching == (self.memory.state in WATCHING)
        assert (self.memory.state is ObjectState.STOPPED) == (not self.pods)
        if self.is_followed:
            assert self.memory.state is not ObjectState.IDLE

    @invariant()
    def what_the_manager_heard_is_what_is_known(self) -> None:
        value = self.memory.knowledge.known.value
        is_there = self.told is not None and self.told.change is not Change.DELETED
        assert is_there == (value is not None)
        if self.told is not None and value is not None:
            assert (self.told.uid, self.told.resource_version) == (
                value.uid,
                value.resource_version,
            )

    # --- how -------------------------------------------------------------------------------------------

    @property
    def now(self) -> Instant:
        return Instant(Seconds(self.time), Timestamp(self.time))

    def come_closer_to_rest(self) -> None:
        if self.keeper.listing:
            self.keeper.answer()
        elif self.keeper.is_watching and not self.keeper.is_open:
            self.keeper.relist()
        self.facts_arrive(len(self.keeper.wire))
        if self.keeper.lists:
            self.a_list_beside_the_watch_is_answered(fails=False)
        self.time_passes(10.0 if self.memory.asked is not None else 1.0)

    def tell_references(self) -> None:
        wanted = ReferencesAre(
            references=len(self.pods),
            newest=Mark(self.newest),
            is_followed=self.is_followed,
            wanted=self.wanted,
        )
        if not self.pods:
            self.waiting.clear()  # its manager tells them that no pod references it
        self.watched.take_references(wanted, self.now)
        self.settle()

    def settle(self) -> None:
        self.watched.settle(self.now)
        self.carry_out()
        held = self.watched.held(self.now)
        for look in [each for each in self.waiting if each <= self.memory.looked]:
            assert held is not None
            self.check(held, self.waiting.pop(look))

    def carry_out(self) -> None:
        while self.memory.outgoing:
            self.do(self.memory.outgoing[0])
            del self.memory.outgoing[0]

    def do(self, effect: Effect) -> None:
        match effect:
            case StartWatch(mark=mark):
                self.keeper.watch(mark)
            case StopWatch():
                self.keeper.unwatch()
            case AskList(mark=mark):
                self.keeper.lists.append(Listing(mark))
            case Inform(fact=fact):
                assert not isinstance(fact, ChangeMissed), "no value was used that was not proven"
                self.note(fact)

    def check(self, held: HeldObject, since: int) -> None:
        states = self.server.past[since:]
        match held.verdict:
            case ReadVerdict.FOUND:
                assert held.value is not None
                assert held.is_current
                index = _index_of(held.value)
                # The state of that number, or one that was restored from it.
                documents = [state.document for state in states if state.document]
                assert index in [_index_in(document) for document in documents]
            case ReadVerdict.NOT_FOUND if held.is_current:
                assert not all(state.document for state in states)
            case ReadVerdict.STALE:
                assert held.known_at is not None
                assert held.known_at <= self.time
            case _:
                assert held.value is None

    def note(self, fact: HolderFact | ChangeMissed) -> None:
        assert not isinstance(fact, HolderBegan), "that is the actor's to tell"
        assert not isinstance(fact, ChangeMissed), "no pod of this model has waited in vain"
        if isinstance(fact, HolderDone):
            assert fact.newest == self.newest
            assert not self.pods
            assert not self.keeper.is_watching
            return
        if isinstance(fact, HolderIdle):
            assert self.memory.state in {ObjectState.IDLE, ObjectState.IMMUTABLE}
            assert self.pods
            assert (self.is_followed, self.waiting) == (False, {})
            assert not self.keeper.is_watching
            self.idle = fact.number
            return
        changed = fact.changed
        if fact.described.state is ObjectState.STOPPED:
            self.told = None
        if changed is None:
            return
        was_there = self.told is not None and self.told.change is not Change.DELETED
        assert was_there == (changed.change is not Change.ADDED)
        self.told = changed


def _index_of(value: ObjectValue) -> int:
    return int(revealed(value.data["index"]))


def _index_in(document: dict[str, object]) -> int:
    data = document["data"]
    assert isinstance(data, dict)
    return int(revealed(base64.b64decode(data["index"])))


TestWatchedObject = WatchedObjectModel.TestCase
