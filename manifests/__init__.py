"""What documents mean, wherever they came from: manifests of pods, Secrets and ConfigMaps.

The ways in, from bytes to a value or a refusal: ``pod_manifest`` for static pods, ``objects.local_object``
for Secrets and ConfigMaps from files. Their stages: ``reading`` (bytes to a document with lines),
``schema`` (fields and types), ``defaults`` (what the API fills in), ``static_pods`` (names and UID),
``validation`` (what the API server would refuse), ``references`` (what a pod needs). ``verdicts``: what
people are told of each file.

The forms of single values: ``names``, ``quantities``, ``times``, ``versions``, ``change_hooks``. What rules
are written with: ``findings``, ``refusals``, ``texts``.
"""
