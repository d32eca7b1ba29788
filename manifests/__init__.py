"""The stages that a manifest goes through; ``manifests.pod_manifest`` is the way in and puts them in order.

document, yaml11, yaml_scalars, reading: bytes to one document with lines. schema: types and fields.
defaults, volume_defaults: what the API fills in. static_pods: identity. validate_*: what the API
server would refuse. api_references: what a static pod may not depend on. findings and fields are what
the rules are written with.

references, hooks, values, durations: what pods and objects say, for those who have no manifest before them.
"""
