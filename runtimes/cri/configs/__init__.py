"""What a runtime is told of a pod: the sandbox's and the containers' configurations, and reading them back.

All of it is pure. ``sandbox`` and ``container`` put the messages together, and the other modules have a part
of them each. What cannot be configured is a ``ConfigRefusedError`` with a sentence for people; what is done
differently than the pod says is a ``ConfigNotice``, which becomes an event.
"""
