"""The vocabulary: frozen values without behaviour. Imports nothing of ours.

Commands are imperative (``Rescan``), facts are past participles (``SourceListed``), questions begin with
``Describe`` and carry the port that the answer goes to. ``pod_runtime`` and ``container_runtime`` are the
contracts at which runtimes are written.
"""
