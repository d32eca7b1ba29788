"""The door of the TLS port: a process that accepts connections, speaks TLS, and knows no HTTP.

``program`` is that process, ``connections`` one of its connections, ``ways`` how bytes flow from one end of
it to the other, and ``messages`` what it and the agent tell each other. ``process`` is the agent's side.

Each connection whose handshake has ended is handed to the agent as one end of a pair of sockets, with the
names in the client's certificate. The agent parses HTTP on it, decides, and answers. What becomes a stream,
such as ``kubectl exec``, is switched: the door copies bytes between the client and a descriptor that the
agent hands over, and goes on doing so when the agent ends.
"""
