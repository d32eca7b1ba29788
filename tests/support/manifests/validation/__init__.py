"""Tables of rule S15, by the part of a pod: what the API server refuses, takes, and puts up with.

Each row edits one field of a good manifest. ``BAD`` is refused with a sentence about a path. ``FINE`` is
accepted; together they stand on both sides of each border. ``DOUBTFUL`` is accepted too, since API servers
do, with a warning.
"""
