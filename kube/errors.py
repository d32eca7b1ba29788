"""What can go wrong with a request, as exceptions that know whether and how to try again.

HTTP statuses and errors of the transport become one small family here, each chained to its cause. It
leaves this package only as the value that actors tell each other (``ApiFailure``).
"""
