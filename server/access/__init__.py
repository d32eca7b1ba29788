"""Who may ask the TLS server what: pure decisions on what a request says, made before anything is done.

``asked`` reads the request once, ``identity`` who sent it, and ``sentences`` has the refusals. What the API
server has to say about both is asked of the actor in ``actors/access``; ``standalone`` decides without one.
"""
