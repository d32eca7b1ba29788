"""Mirror pods: what stands for each static pod at the API server.

``MirrorKeeper`` hears of PodManager which static pods and which mirrors there are, and of the registrar
which Node. For each name ``plan`` decides, pure: nothing, create, delete, look or refuse. The keeper
tells ``ApiCalls`` what follows, the source what was refused, and the recorder of events why.
"""
