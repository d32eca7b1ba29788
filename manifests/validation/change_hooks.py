"""Whether the change hook of a static pod can be read and can have an effect.

With a wrong one the pod runs, but changes of its Secrets and ConfigMaps do nothing. Nobody would notice that
before it matters, so there is a warning.
"""

from __future__ import annotations

from manifests.change_hooks import ON_OBJECT_CHANGE, ChangeHookError, change_hook
from manifests.places import Place
from manifests.references.pods import pod_references
from messages.objects import ChangeAction

_WITHOUT_EFFECT = {
    ChangeAction.SIGNAL: "has no effect: no file that the pod mounts changes with a Secret or a ConfigMap,"
    " and a program that runs sees no other changes",
    ChangeAction.RESTART: "has no effect: the containers of the pod use no Secret and no ConfigMap",
}


def warn_of_change_hook(metadata: Place, spec: Place) -> None:
    """Warn of a change hook that cannot be read, and of one that no change can ever concern."""
    annotation = metadata.get("annotations", {}).get(ON_OBJECT_CHANGE, "")
    try:
        hook = change_hook(annotation)
    except ChangeHookError as error:
        metadata.warn(f"{error}; as it is, changes do nothing", "annotations", ON_OBJECT_CHANGE)
        return
    uses = {reference.use for reference in pod_references({"spec": spec.value})}
    if hook and not hook.concerns(uses):
        metadata.warn(_WITHOUT_EFFECT[hook.action], "annotations", ON_OBJECT_CHANGE)
