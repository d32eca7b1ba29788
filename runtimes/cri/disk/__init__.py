"""What containers need on the node's disk. All of it may block: it belongs on a thread of its own.

``tasks`` are the values that say what is to be done; the other modules do it.
"""
