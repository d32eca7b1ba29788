"""The configurations of sandboxes and containers, made from a pod and read back.

All of it is pure. ``sandbox`` and ``container`` put the messages together from the other modules. A
configuration that cannot be made is a ``ConfigRefusedError`` with a sentence for people; what is done
differently than the pod says is a ``ConfigNotice``, which becomes an event.
"""
