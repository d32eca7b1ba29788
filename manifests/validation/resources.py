"""What the API server would refuse in requests and limits."""

from __future__ import annotations

from manifests.names import qualified_name
from manifests.places import Place
from manifests.quantities import amount

_NATIVE = frozenset({"cpu", "memory", "ephemeral-storage"})
_POD_LEVEL = frozenset({"cpu", "memory"})
_HUGE = "hugepages-"


def validate_container_resources(resources: Place, claims: frozenset[str]) -> None:
    """Tell what is wrong with the ``resources`` of a container.

    ``claims`` are the names of the pod's resource claims.
    """
    for kind in ("limits", "requests"):
        _validate_amounts(resources, kind)
    _validate_requests(resources)
    both = {*resources.get("limits", {}), *resources.get("requests", {})}
    if any(name.startswith(_HUGE) for name in both) and not both & _POD_LEVEL:
        resources.wrong("huge pages need cpu or memory beside them", "requests")
    for claim in resources.each("claims"):
        if claim.required("name") and claim.get("name") not in claims:
            claim.wrong("must be the name of one of spec.resourceClaims", "name")


def validate_pod_resources(resources: Place) -> None:
    """Tell what is wrong with the ``resources`` of a pod as a whole."""
    for kind in ("limits", "requests"):
        _validate_amounts(resources, kind)
        for name in resources.get(kind, {}):
            if name not in _POD_LEVEL and not name.startswith(_HUGE):
                resources.wrong("pods as a whole have cpu, memory and hugepages only", kind, name)
    _validate_requests(resources)
    if resources.has("claims"):
        resources.wrong("pods as a whole cannot have claims", "claims")


def validate_resource_name(name: str) -> str:
    """Return what is wrong with the name of a resource; empty when nothing is."""
    if complaint := qualified_name(name):
        return f"the name {complaint}"
    if "/" in name:
        extended = name.removeprefix("requests.") == name
        return "" if extended else "the name must not begin with 'requests.'"
    if name in _NATIVE or name.startswith(_HUGE):
        return ""
    return "must be cpu, memory, ephemeral-storage, hugepages-SIZE, or a name with a domain"


def _validate_amounts(resources: Place, kind: str) -> None:
    for name, text in resources.get(kind, {}).items():
        if complaint := validate_resource_name(name):
            resources.wrong(complaint, kind, name)
            continue
        value = amount(text)
        if value < 0:
            resources.wrong("must not be negative", kind, name)
        if "/" in name and value.denominator != 1:
            resources.wrong("must be a whole number", kind, name)
        if name.startswith(_HUGE):
            _validate_pages(resources, kind, name)


def _validate_pages(resources: Place, kind: str, name: str) -> None:
    try:
        page = amount(name.removeprefix(_HUGE))
    except ValueError:
        page = amount("0")
    if page <= 0:
        resources.wrong("the size of a page must be a quantity, as in hugepages-2Mi", kind, name)
    elif (amount(resources.get(kind)[name]) / page).denominator != 1:
        resources.wrong("must be a whole number of pages", kind, name)


def _validate_requests(resources: Place) -> None:
    """Tell which requests exceed their limits, or differ from them if a resource cannot be overcommitted."""
    limits = resources.get("limits", {})
    for name, text in resources.get("requests", {}).items():
        fixed = "/" in name or name.startswith(_HUGE)
        if name in limits:
            if fixed and amount(text) != amount(limits[name]):
                resources.wrong("must be equal to its limit", "requests", name)
            elif amount(text) > amount(limits[name]):
                resources.wrong(
                    f"must be no more than its limit of {limits[name]}", "requests", name
                )
        elif fixed:
            resources.wrong("needs a limit, which must be equal to it", "requests", name)
