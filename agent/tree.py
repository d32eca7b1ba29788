"""The composition root: the table of all actors, in the order in which they start.

The kernel stops them in exactly the reverse order. The only module that knows all the others.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final, TypeVar

from actors.events.feed_parts import EVENT_FEED, FeedMemory
from actors.events.recorder import EVENT_RECORDER, RecorderMemory
from actors.node.machine import DescribedMachine
from actors.objects.local_files import LOCAL_OBJECTS, LocalMemory
from actors.objects.manager_parts import (
    CONFIG_MAP_MANAGER,
    OBJECT_HOLDERS,
    SECRET_MANAGER,
    ObjectManagerMemory,
)
from actors.pod_manager import POD_MANAGER, PodMemory
from actors.pods.keeper_parts import POD_KEEPER, PODS
from actors.pods.records import POD_RECORDS
from actors.pods.rollout_keeper import ROLLOUT_KEEPER, RolloutMemory
from actors.pods.status_keeper import STATUS_KEEPER
from actors.pods.status_records import StatusMemory
from actors.probes.keeper import ProbeKeeperMemory
from actors.probes.loop_messages import PROBE_LOOP
from actors.probes.watching import PROBE_KEEPER, PROBERS
from actors.volumes.keeper_parts import VOLUME_KEEPER
from actors.volumes.token_keeper import TOKEN_KEEPER, TokenMemory
from agent import endpoints, objects, pods, runtimes, sources
from agent.composition import Composition, found
from agent.edges import Edges
from agent.late import cluster, containers, node_server
from agent.process import LastCalls
from agent.table import ESCALATE, ActorRow, Dynamic, Group, Only, When, actor, present, specs_of
from kernel import ActorStatus, ActorSystem, Address, Key, Port, SupervisorSpec
from messages.event_feed import ActorIs
from messages.node import LoopsAre
from messages.pod_manager import PodManagerMessage
from messages.pod_runtime import RuntimeNode
from messages.pods import SourceName
from messages.sources import DescribeSource, Rescan
from runtimes.containers.actor import POD_RUNTIME
from runtimes.containers.record import RuntimeMemory
from runtimes.hollow.actor import HOLLOW_CONTAINERS
from runtimes.hollow.record_file import HOLLOW_RECORDS
from runtimes.provider.actor import PROVIDER_RUNTIME
from server import questions
from server.actor import HTTP_SERVER, Listeners
from settings.agent import Settings
from settings.situation import RuntimeKind
from settings.version import Releases
from sources.apiserver import API_SOURCE
from sources.file import FILE_SOURCE
from sources.http.source import HTTP_SOURCE, HttpMemory

M = TypeVar("M")


def _runs(kind: RuntimeKind) -> Callable[[Composition], bool]:
    return lambda agent: agent.runtime.kind is kind


JOINED: Final = When("only in a cluster member", lambda agent: agent.settings.cluster is not None)
HOLLOW: Final = When("with --runtime hollow", _runs(RuntimeKind.HOLLOW))
CRI: Final = When("with --runtime cri", _runs(RuntimeKind.CRI))
PROVIDER: Final = When("with --runtime MODULE:CLASS", _runs(RuntimeKind.PROVIDER))
RECORDED: Final = When("with --hollow-records", lambda agent: agent.runtime.hollow.keeps_records)
# A record of each would take longer than all else that is done for a hollow pod.
KEPT: Final = When(
    "not for hollow pods, unless they have records",
    lambda agent: not HOLLOW.holds(agent) or RECORDED.holds(agent),
)
UNFOUND: Final = When(
    "while no runtime was found yet",
    lambda agent: agent.shared(containers.container_parts).waits_for_socket,
)
VOLUMES: Final = When("where pods have volumes", lambda agent: agent.runtime.makes_volumes)
MANIFESTS: Final = When(
    "with --pod-manifest-path", lambda agent: bool(agent.settings.static_pod_path)
)
URL: Final = When("with --manifest-url", lambda agent: bool(agent.settings.static_pod_url))
SERVED: Final = When("where the TLS port is served", lambda agent: bool(agent.settings.server.port))
OBJECT_FILES: Final = When(
    "with --local-objects-dir", lambda agent: agent.settings.local_objects_dir is not None
)

# A supervisor restarts one for one: an actor that restarts asks the others for what it needs to know.
ACTORS: Final = Group(
    "actorlet",
    actor(
        POD_MANAGER,
        sources.pod_manager,
        memory=PodMemory,
        on_exhausted=ESCALATE,
        answers=(questions.PODS, questions.POD),
    ),
    actor(
        EVENT_RECORDER,
        endpoints.event_recorder,
        memory=RecorderMemory,
        answers=(questions.PAST_EVENTS, questions.POD_EVENTS, questions.EVENTS_OF_PODS),
    ),
    Group(
        "api-server",
        actor(
            cluster.API_CALLS,
            cluster.api_calls,
            memory=cluster.CallMemory,
            answers=(questions.CALLS,),
        ),
        actor(
            cluster.WATCHES,
            cluster.watches,
            memory=cluster.WatchMemory,
            answers=(questions.WATCHES,),
        ),
        when=(JOINED,),
    ),
    Group(
        "node",
        actor(cluster.NODE_REGISTRAR, cluster.node_registrar, memory=cluster.NodeMemory),
        actor(cluster.LEASE_KEEPER, cluster.lease_keeper),
        actor(
            cluster.EVENT_POSTER,
            cluster.event_poster,
            memory=cluster.EventMemory,
            answers=(questions.POSTED_EVENTS,),
        ),
        when=(JOINED,),
    ),
    Dynamic(OBJECT_HOLDERS),
    Group(
        "object-managers",
        actor(SECRET_MANAGER, objects.secret_manager, memory=ObjectManagerMemory),
        actor(CONFIG_MAP_MANAGER, objects.config_map_manager, memory=ObjectManagerMemory),
    ),
    Group(
        "runtimes",
        Only(
            HOLLOW,
            actor(
                HOLLOW_RECORDS,
                runtimes.hollow_records,
                memory=runtimes.hollow_record_memory,
                when=(RECORDED,),
            ),
            actor(
                HOLLOW_CONTAINERS,
                runtimes.hollow_containers,
                memory=runtimes.hollow_memory,
                answers=(questions.PROBE_ANSWERS,),
            ),
            actor(
                POD_RUNTIME,
                runtimes.hollow_runtime,
                memory=RuntimeMemory,
                answers=(questions.RUNTIME,),
            ),
        ),
        Only(
            CRI,
            actor(containers.SOCKET_FINDER, containers.socket_finder, when=(UNFOUND,)),
            actor(
                containers.IMAGE_KEEPER,
                containers.image_keeper,
                memory=containers.image_memory,
                answers=(questions.IMAGES,),
            ),
            actor(
                containers.CRI_CONTAINERS,
                containers.cri_runtime,
                memory=containers.cri_memory,
                answers=(questions.CONTAINER_RUNTIME,),
            ),
            actor(containers.HOOK_RUNNER, containers.hook_runner, memory=containers.HookMemory),
            actor(
                PROBE_LOOP,
                containers.probe_loop,
                memory=runtimes.probe_parts,
                answers=(questions.PROBE_ANSWERS,),
            ),
            actor(
                POD_RUNTIME,
                containers.pod_runtime,
                memory=RuntimeMemory,
                answers=(questions.RUNTIME,),
            ),
            actor(
                containers.LOG_KEEPER,
                containers.log_keeper,
                memory=containers.LogKeeperMemory,
                answers=(questions.LOGS,),
            ),
            actor(containers.CGROUP_KEEPER, containers.cgroup_keeper),
        ),
        Only(
            PROVIDER,
            actor(
                PROBE_LOOP,
                runtimes.provider_probes,
                memory=runtimes.probe_parts,
                answers=(questions.PROBE_ANSWERS,),
            ),
            actor(
                PROVIDER_RUNTIME,
                runtimes.provider_runtime,
                memory=runtimes.provider_memory,
                answers=(questions.RUNTIME,),
            ),
        ),
    ),
    actor(
        cluster.SERVICE_KEEPER,
        cluster.service_keeper,
        memory=cluster.ServiceMemory,
        when=(JOINED, CRI),
    ),
    actor(
        cluster.RUNTIME_CLASS_KEEPER,
        cluster.runtime_class_keeper,
        memory=cluster.RuntimeClassMemory,
        when=(JOINED, CRI),
    ),
    actor(
        STATUS_KEEPER,
        pods.status_keeper,
        memory=StatusMemory,
        answers=(questions.STATUSES,),
    ),
    actor(
        TOKEN_KEEPER,
        pods.token_keeper,
        memory=TokenMemory,
        when=(JOINED, VOLUMES),
        answers=(questions.TOKENS,),
    ),
    actor(
        VOLUME_KEEPER,
        pods.volume_keeper,
        memory=pods.volume_parts,
        when=(VOLUMES,),
        answers=(questions.VOLUMES,),
    ),
    actor(POD_RECORDS, pods.pod_records, memory=pods.record_memory, when=(KEPT,)),
    actor(
        PROBE_KEEPER,
        pods.probe_keeper,
        memory=ProbeKeeperMemory,
        answers=(questions.PROBES,),
    ),
    Dynamic(PROBERS),
    actor(
        ROLLOUT_KEEPER,
        pods.rollout_keeper,
        memory=RolloutMemory,
        answers=(questions.CHANGE_HOOKS,),
    ),
    Dynamic(PODS),
    actor(
        POD_KEEPER,
        pods.pod_keeper,
        memory=pods.pod_keeper_memory,
        answers=(questions.LIVES,),
    ),
    Group(
        "sources",
        actor(LOCAL_OBJECTS, objects.local_objects, memory=LocalMemory, when=(OBJECT_FILES,)),
        actor(FILE_SOURCE, sources.file_source, memory=sources.file_memory, when=(MANIFESTS,)),
        actor(HTTP_SOURCE, sources.http_source, memory=HttpMemory, when=(URL,)),
        actor(API_SOURCE, cluster.api_source, memory=cluster.ApiMemory, when=(JOINED,)),
    ),
    actor(
        cluster.MIRROR_KEEPER,
        cluster.mirror_keeper,
        memory=cluster.MirrorMemory,
        when=(JOINED,),
        answers=(questions.MIRRORS,),
    ),
    actor(
        EVENT_FEED,
        endpoints.event_feed,
        memory=FeedMemory,
        answers=(questions.FEED, questions.ATTACH),
    ),
    actor(HTTP_SERVER, endpoints.http_server, memory=Releases, on_exhausted=ESCALATE),
    Only(
        SERVED,
        actor(
            node_server.CERTIFICATE_KEEPER,
            node_server.certificate_keeper,
            memory=node_server.CertificateMemory,
        ),
        actor(
            node_server.REVIEWER,
            node_server.reviewer,
            memory=node_server.ReviewerMemory,
            when=(JOINED,),
        ),
        actor(
            node_server.NODE_SERVER,
            node_server.node_server,
            memory=endpoints.node_server_memory,
            answers=(questions.STREAMS,),
        ),
    ),
)


def composition(
    settings: Settings,
    address: Address,
    system: Callable[[], ActorSystem],
    edges: Edges | None = None,
    listeners: Listeners | None = None,
) -> Composition:
    """Return what the actors of an agent with these settings are made from."""
    agent = Composition(settings, address, system, edges or Edges(), listeners or Listeners())
    if settings.cluster is not None:
        # Here, since only the thread that makes agents asks for parts of the process.
        agent.shared(cluster.api_server)
    for row in present(ACTORS, agent):
        agent.expect(found(row.key), row.key, row.answers if isinstance(row, ActorRow) else ())
    told = partial(_told_of_node, agent)
    agent.machine = DescribedMachine(machine=agent.own_machine, told=told)
    return agent


def _told_of_node(agent: Composition) -> RuntimeNode | None:
    """Return what the runtime of pods says of the Node. Of a hollow one, flags say it."""
    match agent.runtime.kind:
        case RuntimeKind.CRI:
            return agent.shared(containers.container_parts).node()
        case RuntimeKind.PROVIDER:
            return agent.shared(runtimes.provider).node()
        case RuntimeKind.HOLLOW:
            return None


class AgentTree:
    """The actors of one agent, and the memories that outlive their crashes.

    ``system`` gives the system that the tree runs in, once there is one: it is made from ``root``.
    """

    def __init__(
        self,
        settings: Settings,
        listeners: Listeners,
        system: Callable[[], ActorSystem],
        edges: Edges | None = None,
    ) -> None:
        def address(key: Key[M], /) -> Port[M]:
            return system().address(key)

        self.agent = composition(settings, address, system, edges, listeners)

    def root(self) -> SupervisorSpec:
        """Return the whole tree, with new memories."""
        (root,) = specs_of(ACTORS, self.agent)
        assert isinstance(root, SupervisorSpec)  # noqa: S101  # as the row is a group
        return root

    @property
    def last_calls(self) -> LastCalls:
        """The calls that the end of the process waits for."""
        return self.agent.last_calls

    @property
    def pod_manager(self) -> Port[PodManagerMessage]:
        """The address of PodManager."""
        return self.agent.port(POD_MANAGER)

    def shown_sources(self) -> dict[SourceName, Port[Rescan | DescribeSource]]:
        """Return everything that lists: the sources of pods, and the source of local objects."""
        return sources.shown_sources(self.agent)

    def note_actor_status(self, status: ActorStatus) -> None:
        """Have people told that an actor failed, or runs again. On the thread of the supervisors."""
        told = ActorIs(
            name=status.name,
            state=status.state,
            restarts=status.restarts,
            error=status.error,
        )
        self.agent.port(EVENT_FEED).tell(told)

    def note_failed_loops(self, names: frozenset[str]) -> None:
        """Tell the Node's registrar which loops of the agent fail. In a cluster member alone."""
        self.agent.port(cluster.NODE_REGISTRAR).tell(LoopsAre(failed=tuple(sorted(names))))
