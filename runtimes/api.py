"""The seam at which pods are run: what a runtime of pods must do, and what it may rely on.

A runtime of pods is an actor that hears ``PodRuntimeMessage``. Three are here: ``runtimes.containers`` drives
a runtime of containers (``runtimes.hollow`` in memory, or one that speaks the CRI), and ``runtimes.virtual``
calls a plain Python class. Whoever wants to run pods as something else writes such a class (see
``docs/writing-a-runtime.md``) or, for full control, an actor that keeps what this page says. The suite
``tests/contracts/test_pod_runtime_contract.py`` runs on every implementation.

**Commands.** ``RunPod``, ``StopPod`` and ``ForgetPod`` say what should be. ``PodObserved`` says what is. Both
are complete and may repeat; no delta is ever needed.

- Each command carries a ``Mark``. Marks of one pod grow, also across crashes of who gives them. A command
  with a smaller mark than the last one is ignored. One with the same mark is the same command again.
- A later command about a pod replaces the earlier one as a whole. Only ``StopPod`` is kept to the end: after
  it no ``RunPod`` of this UID counts until ``ForgetPod`` was carried out.
- ``PodObserved`` goes to the ``reply_to`` of the last command about the pod. It names the greatest mark whose
  effect it includes. At least one is told for each mark, as soon as that is true.
- ``PodObserved`` is told whenever anything in it has changed, as soon as the runtime knows. Several changes
  in quick succession may be told as one; the last state is always told.

**Signals.** ``SignalContainers`` asks for something that is done once, and is answered. It changes nothing of
what should be. A runtime whose containers get no signals says so for each of them in its answer.

**Crashes.** A crash of either side changes nothing about what runs.

- The runtime's commands outlive its own crashes: it gets a memory that each life goes on with (as all actors
  here do). The next life looks at what really runs before it acts, and tells each pod's state once more.
- A command that the runtime crashed over is lost. So each life tells ``PodsObserved`` to everybody who ever
  asked for it, with its number, and all commands are given once more.
- A worker that crashed gives its last command again, with a greater mark, to the same address. The agent
  that was killed does so for every pod that it should run. What runs already and is as it should be goes
  on undisturbed, and is told as it is.
- Pods that run and that nobody commanded are left alone, and are in ``PodsObserved``.

**Not knowing.** A runtime that cannot see (its socket is away, say) tells a ``PodTrouble`` beside its last
knowledge, and neither starts nor stops anything on a guess. ``ListRuntimePods`` waits for its answer then.

**Deadlines.** No command has one: a pod may take minutes to start, and is stopped within the grace of its
``StopPod`` and as long again as the runtime itself needs. No handler of a runtime blocks: what takes time
runs elsewhere, with a deadline, and its result comes back as a message.

**Errors.** A runtime never fails because of a pod. What goes wrong with one pod is a ``ContainerWait`` or a
``PodTrouble`` of that pod, with a sentence for people, and an event; the runtime tries again by itself, with
back-off, for as long as the command stands. A trouble that is ``is_for_good`` ends the pod.

**Values.** ``RunPod`` carries values of Secrets. They never reach a log, an event, an exception text or a
``repr``.
"""

from messages.pod_runtime import (
    NO_MARK,
    ContainerHistory,
    ContainerObserved,
    ContainersSignalled,
    ContainerState,
    ContainerWait,
    DescribeRuntime,
    ForgetPod,
    ListRuntimePods,
    Mark,
    PodObserved,
    PodRuntimeMessage,
    PodsObserved,
    PodTrouble,
    ProbeVerdict,
    RunPod,
    RuntimeDescribed,
    RuntimeNode,
    RuntimePod,
    SandboxObserved,
    SandboxState,
    SignalContainers,
    StopPod,
)

__all__ = [
    "NO_MARK",
    "ContainerHistory",
    "ContainerObserved",
    "ContainerState",
    "ContainerWait",
    "ContainersSignalled",
    "DescribeRuntime",
    "ForgetPod",
    "ListRuntimePods",
    "Mark",
    "PodObserved",
    "PodRuntimeMessage",
    "PodTrouble",
    "PodsObserved",
    "ProbeVerdict",
    "RunPod",
    "RuntimeDescribed",
    "RuntimeNode",
    "RuntimePod",
    "SandboxObserved",
    "SandboxState",
    "SignalContainers",
    "StopPod",
]
