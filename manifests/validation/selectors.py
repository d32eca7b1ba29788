"""What the API server would refuse in selectors, affinities, tolerations and spread constraints.

A static pod is never scheduled, but its mirror must pass, and tolerations count on the node too.
"""

from __future__ import annotations

from manifests.findings import REQUIRED, Place
from manifests.names import EFFECTS, dns_label, dns_subdomain, label_value, qualified_name
from manifests.texts import quoted
from manifests.validation.metadata import validate_labels

_HONOUR = ("Honor", "Ignore")
_REQUIRED_TERMS = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED_TERMS = "preferredDuringSchedulingIgnoredDuringExecution"


def validate_toleration(toleration: Place) -> None:
    """Tell what is wrong with one toleration."""
    operator = toleration.get("operator", "") or "Equal"
    value = toleration.get("value", "")
    toleration.obeys("key", qualified_name)
    if not toleration.get("key") and operator != "Exists":
        toleration.wrong("must be Exists when there is no key", "operator")
    if operator not in {"Equal", "Exists", "Lt", "Gt"}:
        toleration.wrong(f"must be Equal or Exists, not {quoted(operator)}", "operator")
    elif operator == "Exists" and value:
        toleration.wrong("must be empty when the operator is Exists", "value")
    elif operator == "Equal":
        toleration.obeys("value", label_value)
    elif operator in {"Lt", "Gt"} and not _is_integer(value):
        toleration.wrong("must be a whole number for this operator", "value")
    effect = toleration.get("effect", "")
    if effect and effect not in EFFECTS:
        toleration.one_of("effect", EFFECTS)
    if toleration.has("tolerationSeconds") and effect != "NoExecute":
        toleration.wrong("must be NoExecute when tolerationSeconds is set", "effect")


def validate_affinity(affinity: Place) -> None:
    """Tell what is wrong with node, pod and pod anti-affinity."""
    if node := affinity.child("nodeAffinity"):
        if required := node.child(_REQUIRED_TERMS):
            required.required("nodeSelectorTerms")
            for term in required.each("nodeSelectorTerms"):
                _validate_node_term(term)
        for preferred in node.each(_PREFERRED_TERMS):
            _validate_weight(preferred)
            if preference := preferred.child("preference"):
                _validate_node_term(preference)
    for name in ("podAffinity", "podAntiAffinity"):
        if pods := affinity.child(name):
            _validate_pod_affinity(pods)


def validate_spread(constraint: Place) -> None:
    """Tell what is wrong with one topology spread constraint."""
    if constraint.get("maxSkew", 0) <= 0:
        constraint.wrong("must be greater than 0", "maxSkew")
    constraint.named("topologyKey", qualified_name)
    if constraint.required("whenUnsatisfiable"):
        constraint.one_of("whenUnsatisfiable", ("DoNotSchedule", "ScheduleAnyway"))
    constraint.within("minDomains", 1)
    if constraint.has("minDomains") and constraint.get("whenUnsatisfiable") != "DoNotSchedule":
        constraint.wrong("needs whenUnsatisfiable to be DoNotSchedule", "minDomains")
    constraint.one_of("nodeAffinityPolicy", _HONOUR)
    constraint.one_of("nodeTaintsPolicy", _HONOUR)
    constraint.each_obeys("matchLabelKeys", qualified_name)
    if constraint.has("matchLabelKeys") and not constraint.has("labelSelector"):
        constraint.wrong("needs a labelSelector beside it", "matchLabelKeys")
    validate_label_selector(constraint)


def validate_label_selector(holder: Place, name: str = "labelSelector") -> None:
    """Tell what is wrong with the label selector in the field ``name``, if there is one."""
    selector = holder.child(name)
    if selector is None:
        return
    validate_labels(selector, "matchLabels")
    for expression in selector.each("matchExpressions"):
        expression.named("key", qualified_name)
        expression.each_obeys("values", label_value)
        _validate_operator(expression, {"In", "NotIn"}, set())


def _validate_pod_affinity(affinity: Place) -> None:
    for term in affinity.each(_REQUIRED_TERMS):
        _validate_pod_term(term)
    for preferred in affinity.each(_PREFERRED_TERMS):
        _validate_weight(preferred)
        if chosen := preferred.child("podAffinityTerm"):
            _validate_pod_term(chosen)
        else:
            preferred.wrong(REQUIRED, "podAffinityTerm")


def _validate_pod_term(term: Place) -> None:
    term.named("topologyKey", qualified_name)
    term.each_obeys("namespaces", dns_label)
    for name in ("matchLabelKeys", "mismatchLabelKeys"):
        term.each_obeys(name, qualified_name)
    validate_label_selector(term)
    validate_label_selector(term, "namespaceSelector")


def _validate_weight(preferred: Place) -> None:
    if not 1 <= preferred.get("weight", 0) <= 100:
        preferred.wrong("must be between 1 and 100", "weight")


def _validate_node_term(term: Place) -> None:
    for expression in term.each("matchExpressions"):
        expression.named("key", qualified_name)
        _validate_operator(expression, {"In", "NotIn"}, {"Gt", "Lt"})
    for field in term.each("matchFields"):
        if field.get("key") != "metadata.name":
            field.wrong("must be metadata.name", "key")
        if field.get("operator") not in {"In", "NotIn"} or len(field.get("values", ())) != 1:
            field.wrong("must be In or NotIn, with exactly one value", "operator")
        field.each_obeys("values", dns_subdomain)


def _validate_operator(expression: Place, many: set[str], compared: set[str]) -> None:
    """``many`` take at least one value, ``compared`` take one number, the others none."""
    operator = expression.get("operator", "")
    values = expression.get("values", [])
    if operator in many:
        expression.required("values")
    elif operator in compared:
        _validate_bound(expression)
    elif operator in {"Exists", "DoesNotExist"}:
        if values:
            expression.wrong(f"must be empty for {operator}", "values")
    else:
        allowed = ", ".join(sorted(many | compared | {"Exists", "DoesNotExist"}))
        expression.wrong(f"must be one of {allowed}, not {quoted(operator)}", "operator")


def _validate_bound(expression: Place) -> None:
    """Judge what ``Gt`` or ``Lt`` compares with: API servers want one label value, not a number."""
    values = expression.get("values", [])
    if len(values) != 1 or (not _is_integer(values[0]) and label_value(values[0])):
        text = f"must be a single whole number for {expression.get('operator')}"
        expression.wrong(text, "values")
    elif not _is_integer(values[0]):
        expression.warn("is no whole number, so no node matches", "values", 0)


def _is_integer(text: str) -> bool:
    return text.removeprefix("-").isdecimal() and len(text) < 20
