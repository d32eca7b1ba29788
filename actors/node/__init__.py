"""The Node that stands for this machine in the cluster, and the Lease that says it is alive.

``registrar`` and ``lease_keeper`` are the actors. The pure modules beside them make the decisions;
``machine`` reads the facts.
"""
