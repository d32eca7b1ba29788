"""The agent as a process, as endpoints over sockets, and as a member of a real cluster."""
