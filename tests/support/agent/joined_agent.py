"""The agent as a member of a real cluster: a process that joins it, and what an administrator sees.

The node is n1: the one that the cluster's node user stands for.
"""

from __future__ import annotations

import re
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, Self

from typing_extensions import override

from messages.api import ApiRequest, Verb
from messages.pods import CONFIG_MIRROR, JsonObject
from tests.support.agent.process import AgentProcess, eventually, manifest
from tests.support.apiserver.client import ApiClient
from tests.support.apiserver.status import StatusError
from tests.support.cluster.cluster import Cluster
from tests.support.wire.client import SLOW, NotYet

NODE_NAME: Final = "n1"
LEASE_SECONDS: Final = 4
"""The Lease is renewed every second, so that nobody waits for it."""
OWN_STREAMS: Final = 2
"""The watches that an agent has whatever its pods reference: of its Node, and of the pods bound to it."""

_COUNTER: Final = re.compile(r"^(\w+)(?:\{(.*)\})? (\S+)$", re.MULTILINE)


class JoinedAgent(AgentProcess):
    """``run.py`` with a kubeconfig and a directory of manifests."""

    def __init__(self, folder: Path, kubeconfig: Path, node_name: str = NODE_NAME) -> None:
        super().__init__(folder)
        self.kubeconfig = folder / "kubeconfig"
        self.node_name = node_name
        self._configuration = folder / "configuration.yaml"
        self._configuration.write_text(
            "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
            f"nodeLeaseDurationSeconds: {LEASE_SECONDS}\n"
        )
        self.manifests.mkdir()
        if kubeconfig.exists():
            shutil.copy(kubeconfig, self.kubeconfig)

    def configure(self, **fields: str) -> None:
        """Have its next life run with more fields of a KubeletConfiguration."""
        more = "".join(f"{name}: {value}\n" for name, value in fields.items())
        self._configuration.write_text(self._configuration.read_text() + more)

    @override
    def start_on_manifests(self, *flags: str, **more: Any) -> Self:
        """Start it, and return once its static pods are served: the API server may be away."""
        return super().start_on_manifests(
            f"--kubeconfig={self.kubeconfig}",
            "--port=0",
            f"--config={self._configuration}",
            f"--hostname-override={self.node_name}",
            "--runtime=hollow",
            *flags,
            **more,
        )

    def joins(self, *flags: str) -> Self:
        """Start it, and return once it watches its pods and has shown those that are static."""
        self.start_on_manifests(*flags)
        eventually(self.has_joined)
        return self

    def has_joined(self) -> bool:
        """Whether it watches its Node and the pods bound to it, and each manifest's has its mirror."""
        number = len([*self.manifests.glob("*.yaml")])
        shows = {*self.metric("actorlet_mirrors").values()} == {number}
        # Its pods are listed before the watch of them is open.
        return shows and self.get("/readyz/api")[0] == 200 and self.streams() >= OWN_STREAMS

    def dies(self) -> None:
        """End it with no chance to say good-bye."""
        self.process.kill()
        self.process.wait()

    def serve(self, name: str, *, image: str = "registry.example/web:1", **metadata: str) -> None:
        """Put a manifest of a pod ``name`` in place."""
        text = manifest(name, image)
        more = "".join(f", {key}: {value}" for key, value in metadata.items())
        self.write(f"{name}.yaml", text.replace(f"{{name: {name}}}", f"{{name: {name}{more}}}"))

    def withdraw(self, name: str) -> None:
        """Remove a manifest."""
        (self.manifests / f"{name}.yaml").unlink()

    def manifest_verdicts(self) -> list[dict[str, Any]]:
        """Return what ``/sourcez`` says of the manifests in the directory."""
        (file,) = (each for each in self.json("/sourcez")["sources"] if each["name"] == "file")
        return list(file["manifests"])

    def warnings(self, name: str) -> list[str]:
        """Return the warnings about a manifest; fails when it is not served."""
        verdicts = self.manifest_verdicts()
        found = [each for each in verdicts if Path(each["path"]).name == f"{name}.yaml"]
        assert [each for each in found if each["verdict"] != "accepted"] == []
        return [warning for each in found for warning in each["warnings"]]

    def trouble(self) -> str:
        """Return what ``/readyz`` says is wrong with the API server, empty if nothing is.

        Fails when the agent as a whole is not ready; raises ``NotYet`` when somebody does not answer.
        """
        status, text = self.get("/readyz?verbose")
        if SLOW in text:
            raise NotYet(text)
        assert status == 200, text
        (line,) = (each for each in text.splitlines() if "api-server" in each)
        return line if line.startswith("[-]") else ""

    def complains(self, *words: str) -> str:
        """Return what is wrong with the API server, once all of ``words`` are in it.

        What was wrong before is none of it: a first answer may just take too long.
        """

        def complaint() -> str:
            trouble = self.trouble()
            if not all(word in trouble for word in words):
                raise NotYet(trouble)
            return trouble

        return eventually(complaint)

    def metric(self, name: str) -> dict[str, float]:
        """Return the values of a metric, by the values of its labels in their order."""
        found = _COUNTER.findall(self.get("/metrics")[1])
        return {
            " ".join(re.findall(r'"(.*?)"', labels)): float(value)
            for metric, labels, value in found
            if metric == name
        }

    def requests(self, method: str) -> float:
        """Return how many requests of a method the API server has answered or not."""
        counts = self.metric("rest_client_requests_total")
        return sum(count for labels, count in counts.items() if labels.endswith(f" {method}"))

    def forbidden(self) -> float:
        """Return how many requests to read something the API server has answered with a 403.

        What an API server says of this itself, in its own metrics, is nothing.
        """
        counts = self.metric("rest_client_requests_total")
        return sum(
            count
            for labels, count in counts.items()
            if labels.startswith("403 ") and labels.endswith(" GET")
        )

    def objects(self) -> dict[tuple[str, str], dict[str, Any]]:
        """Return how the Secrets and ConfigMaps are held, by kind and name."""
        rows = self.json("/watchz")["objects"]
        return {(row["kind"], row["name"]): row for row in rows}

    def streams(self) -> int:
        """Return how many watches are open at the API server."""
        return self._number_of("streams")

    def connections(self) -> int:
        """Return how many connections its watches share."""
        return self._number_of("connections")

    def _number_of(self, what: str) -> int:
        number = self.json("/watchz")[what]
        if number is None:
            raise NotYet(f"who watches does not say how many {what} there are")
        return int(number)

    def dump(self) -> str:
        """Have it log its actors and threads; return the log."""
        self._heeds(signal.SIGUSR1)
        self._heeds(signal.SIGHUP)  # which comes after the dump, and does no harm
        return self.log()

    def _heeds(self, number: signal.Signals) -> None:
        before = self.log().count(number.name)
        self.send(number)
        eventually(lambda: self.log().count(number.name) > before)

    def story(self) -> str:
        """Return for people how it is, and the end of its log."""
        try:
            parts = [self.get("/readyz?verbose")[1], self.get("/metrics")[1]]
        except OSError:
            parts = ["it does not answer"]
        calls = [line for line in parts[-1].splitlines() if line.startswith("actorlet_api")]
        return "\n".join([parts[0], *calls, self.log()[-8000:]])

    def documents(self) -> list[JsonObject]:
        """Return the pods of ``/pods``."""
        return list(self.json("/pods")["items"])


class Onlooker:
    """An administrator who looks at the cluster."""

    def __init__(self, admin: ApiClient) -> None:
        self.admin = admin

    def pod(self, name: str, namespace: str = "default") -> JsonObject | None:
        """Return a pod, None if there is none."""
        found = (each for each in self.admin.pods() if _place(each) == (namespace, name))
        return next(found, None)

    def mirrors(self) -> dict[str, str]:
        """Return the UIDs of all mirror pods by their names."""
        return {
            pod["metadata"]["name"]: pod["metadata"]["uid"]
            for pod in self.admin.pods()
            if CONFIG_MIRROR in pod["metadata"].get("annotations", {})
        }

    def node(self, name: str = NODE_NAME) -> JsonObject | None:
        """Return a Node, None if there is none."""
        found = (each for each in self.admin.all("nodes") if each["metadata"]["name"] == name)
        return next(found, None)

    def lease(self, name: str = NODE_NAME) -> JsonObject | None:
        """Return the Lease of a Node, None if there is none."""
        found = (each for each in self.admin.all("leases") if each["metadata"]["name"] == name)
        return next(found, None)

    def warnings(self) -> list[JsonObject]:
        """Return the events that warn."""
        return [event for event in self.admin.events() if event["type"] == "Warning"]

    def create(self, path: str, document: JsonObject) -> JsonObject:
        """Create an object of any kind; return it."""
        return self.admin.handle(ApiRequest(verb=Verb.CREATE, path=path, body=document))

    def delete(self, path: str) -> None:
        """Delete an object of any kind."""
        self.admin.handle(ApiRequest(verb=Verb.DELETE, path=path))

    def wipe(self, *plurals: str) -> None:
        """Remove all objects of these kinds that tests leave behind; of all such kinds if none is given."""
        for plural in plurals or ("pods", "events", "leases", "nodes"):
            for item in self.admin.all(plural):
                # An agent that was killed may have sent a last request.
                with suppress(StatusError):
                    self.admin.remove(plural, *_place(item))


def condition(node: JsonObject, kind: str) -> JsonObject:
    """Return one condition of a Node; empty when it has none of that kind."""
    conditions = node.get("status", {}).get("conditions", ())
    return next((each for each in conditions if each["type"] == kind), {})


@contextmanager
def member(folder: Path, cluster: Cluster, onlooker: Onlooker) -> Iterator[JoinedAgent]:
    """Return an agent that is not started yet; whatever it leaves in the cluster is removed."""
    with JoinedAgent(folder, cluster.kubeconfig()) as agent:
        yield agent
        # Shown with a test that fails.
        print(cluster.how_it_is(), agent.story(), sep="\n")  # noqa: T201  # for who reads it
    onlooker.wipe()


def _place(document: JsonObject) -> tuple[str, ...]:
    """Return namespace, if there is one, and name."""
    metadata = document["metadata"]
    return tuple(metadata[key] for key in ("namespace", "name") if key in metadata)
