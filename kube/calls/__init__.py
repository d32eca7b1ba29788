"""Single calls to the API server: one request, one answer.

From the bottom: ``request_info`` (what a request is about),
``failures`` (what fails at present), ``sender`` (one request over HTTP), ``actor`` (whose turn it is).
"""
