"""The node's TLS port, 10250: what an API server, metrics collectors and administrators ask a node.

``actor`` owns what serves it. ``serving`` and ``clients`` adopt the connections that the door hands over.
``application`` decides who may, by ``access``, and calls what answers: ``logs`` for ``kubectl logs``,
``commands`` for ``exec``, ``attach`` and ``port-forward``, and the documents that the other ports have, too.
``pods`` finds the pod and the container that a path names.

A request is read once, by ``server.access.asked``: that is what is authorized, and what is done.
"""
