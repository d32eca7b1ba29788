"""What containers need on the node's disk. All of it may block: it belongs on a thread of its own.

The values in ``pod_files`` say what is to be done.
"""
