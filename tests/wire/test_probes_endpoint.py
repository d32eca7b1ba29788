"""What people read of probes, over a socket."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.agent.process import eventually
from tests.support.agent.served import Served, served_agent

POD = """
apiVersion: v1
kind: Pod
metadata:
  name: web
  annotations: {hollow.actorlet/ready-after: 1h}
spec:
  containers:
    - name: main
      image: web:1
      readinessProbe: {httpGet: {port: 80}, periodSeconds: 1, failureThreshold: 1}
"""


def probe(served: Served) -> dict[str, Any]:
    """Return the only probe, once it is there."""
    pods = served.get("/probez").json["pods"]
    return dict(pods[0]["probes"][0]) if pods else {}


def test_a_pod_that_is_not_ready_says_why(tmp_path: Path) -> None:
    (tmp_path / "web.yaml").write_text(POD)
    with served_agent(tmp_path, "--runtime=hollow", f"--root-dir={tmp_path / 'root'}") as served:
        eventually(lambda: probe(served).get("failures", 0) > 0)
        (pod,) = served.get("/probez").json["pods"]
        assert (pod["ready"], pod["reason"]) == (False, "ContainersNotReady")
        assert pod["message"] == "containers with unready status: [main]"
        assert pod["probes"][0]["lastAnswer"]["text"] == "hollow: not ready yet"
        (shown,) = served.get("/pods").json["items"]
        conditions = {each["type"]: each for each in shown["status"]["conditions"]}
        assert conditions["Ready"]["message"] == pod["message"]
        metrics = served.get("/metrics/probes").text
        assert 'prober_probe_total{container="main"' in metrics
        (tmp_path / "web.yaml").unlink()
        eventually(lambda: not probe(served))
        assert "prober_probe_total{" not in served.get("/metrics/probes").text
