"""Who may ask the TLS server what, as the API server says it.

The server asks ``Reviewer`` whose token a request shows, and whether somebody may do what they ask for.
``reviews`` says what the API server is asked for that and what its answers mean, and ``decisions`` has those
that still count.
"""
