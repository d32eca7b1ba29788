"""Files written, broken, renamed, swapped and removed at random, against a plain model."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from files.looking.found import Entry, Listed
from manifests.pod_manifest import Decoded
from messages.pods import Pod
from messages.sources import ManifestVerdict, Verdict
from tests.support.files.manifest_files import FIFO, Observer, decode, manifest

FILES = st.sampled_from(["a", "b", "c", "d"])
GOOD = st.builds(
    "name={} uid={} image={}".format,
    st.sampled_from(["web", "db", "log"]),
    st.sampled_from("123"),
    st.sampled_from("12"),
)
BROKEN = st.sampled_from(["", "rubbish", "noise"])
SERVING = {Verdict.ACCEPTED, Verdict.KEPT}
HAS_A_POD = {*SERVING, Verdict.SHADOWED}


@dataclass
class File:
    """One file, as whoever writes it knows it."""

    text: str
    inode: int
    written: float
    is_fifo: bool = False

    def entry(self, name: str) -> Entry:
        found = FIFO if self.is_fifo else self.text
        return manifest(name, found, written=self.written, inode=self.inode)

    @property
    def is_good(self) -> bool:
        return not self.is_fifo and self.text.startswith("name=")


class Directory(RuleBasedStateMachine):
    """A directory that people work in, and the observer that judges it."""

    def __init__(self) -> None:
        super().__init__()
        self.observer = Observer()
        self.files: dict[str, File] = {}
        self.time = 0.0
        self.inodes = 0
        self.pods: tuple[Pod, ...] | None = None
        self.verdicts: dict[str, ManifestVerdict] = {}

    def look(self) -> None:
        listing = Listed(entries=tuple(f.entry(name) for name, f in sorted(self.files.items())))
        judgement = self.observer.hears(listing, at=self.time)
        self.pods = judgement.served
        self.verdicts = {verdict.path[-1]: verdict for verdict in judgement.verdicts}

    def written(self, text: str, *, is_fifo: bool = False) -> File:
        self.inodes += 1
        return File(text=text, inode=self.inodes, written=self.time, is_fifo=is_fifo)

    @initialize()
    def the_agent_starts(self) -> None:
        self.look()

    @rule(name=FILES, text=GOOD | BROKEN)
    def write(self, name: str, text: str) -> None:
        self.files[name] = self.written(text)

    @rule(name=FILES)
    def replace_by_a_fifo(self, name: str) -> None:
        self.files[name] = self.written("", is_fifo=True)

    @precondition(lambda self: self.files)
    @rule(data=st.data(), to=FILES)
    def rename(self, data: st.DataObject, to: str) -> None:
        name = data.draw(st.sampled_from(sorted(self.files)))
        self.files[to] = self.files.pop(name)

    @precondition(lambda self: len(self.files) > 1)
    @rule(data=st.data())
    def swap(self, data: st.DataObject) -> None:
        one, other, *_ = data.draw(st.permutations(sorted(self.files)))
        self.files[one], self.files[other] = self.files[other], self.files[one]

    @precondition(lambda self: self.files)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        del self.files[data.draw(st.sampled_from(sorted(self.files)))]

    @invariant()
    def no_two_pods_have_one_name_or_one_uid(self) -> None:
        pods = self.pods or ()
        assert len({pod.full_name for pod in pods}) == len(pods)
        assert len({pod.uid for pod in pods}) == len(pods)

    @invariant()
    def every_pod_is_explained_by_one_verdict(self) -> None:
        served = [v.uid for v in self.verdicts.values() if v.verdict in SERVING]
        assert self.pods is None or sorted(map(str, served)) == sorted(p.uid for p in self.pods)

    def check_that_a_second_look_changes_nothing(self) -> None:
        state, decoded = self.observer.state, len(self.observer.decoded)
        self.look()
        assert self.observer.state.served is state.served
        assert self.observer.state.verdicts == state.verdicts
        assert len(self.observer.decoded) == decoded


class BusyDirectory(Directory):
    """Looks come at any time, also in the middle of things."""

    @rule(span=st.sampled_from([0.0, 0.01, 0.03, 0.05, 0.1, 3.0]))
    def time_passes(self, span: float) -> None:
        self.time += span

    @rule()
    def an_agent_looks(self) -> None:
        before = self.verdicts
        self.look()
        # Whoever was good once has a pod for as long as the file is there, unless another owns it.
        for name in self.files.keys() & before.keys():
            if before[name].verdict in HAS_A_POD:
                verdict = self.verdicts[name]
                assert verdict.verdict in HAS_A_POD or "not served" in verdict.reason

    @rule()
    def everything_comes_to_rest(self) -> None:
        for _ in range(2):  # the second look sees that what vanished stays away
            self.time += 3.0
            self.look()
        assert self.verdicts.keys() == self.files.keys()
        assert self.pods is not None
        self.check_that_a_second_look_changes_nothing()


class CalmDirectory(Directory):
    """After each change there is a look when all is quiet: what is served is fully known."""

    def __init__(self) -> None:
        super().__init__()
        self.known: dict[str, File] = {}
        self.last_good: dict[str, str] = {}

    @invariant()
    def what_is_served_is_what_the_model_says(self) -> None:
        for _ in range(2):
            self.time += 3.0
            self.look()
        self.last_good = {
            name: good
            for name, file in self.files.items()
            if (good := self.expected_good(name, file)) is not None
        }
        self.known = dict(self.files)
        assert {name: v.verdict in SERVING for name, v in self.verdicts.items()} == {
            name: name in self.winners() for name in self.files
        }
        assert sorted(self.pods or (), key=repr) == sorted(self.winners().values(), key=repr)
        self.check_that_a_second_look_changes_nothing()

    def expected_good(self, name: str, file: File) -> str | None:
        if file.is_good:
            return file.text
        if name in self.known:
            return self.last_good.get(name)
        # A new name: whatever vanished and is this very file was renamed.
        former = [old for old, known in self.known.items() if known is file]
        gone = [old for old in former if old not in self.files]
        return self.last_good.get(gone[0]) if gone else None

    def winners(self) -> dict[str, Pod]:
        winners: dict[str, Pod] = {}
        for name in sorted(self.last_good, reverse=True):
            decoded = decode(self.last_good[name].encode())
            assert isinstance(decoded, Decoded)
            pod, rivals = decoded.pod, winners.values()
            if all(pod.name != other.name and pod.uid != other.uid for other in rivals):
                winners[name] = pod
        return winners


TestBusyDirectory = BusyDirectory.TestCase
TestCalmDirectory = CalmDirectory.TestCase
