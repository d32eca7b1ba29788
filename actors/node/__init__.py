"""The Node that stands for this machine in the cluster, and the Lease that says it is alive.

``registrar`` and ``lease_keeper`` are the actors; what they decide is in the pure modules beside them,
and ``machine`` reads the facts.
"""
