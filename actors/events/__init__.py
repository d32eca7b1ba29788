"""Events: posted at the API server, remembered, and told to the readers of ``/events``.

Every actor tells ``EventRecorder`` what it has to say. That remembers it for people and tells
``EventPoster``, which counts events up and posts them by ``ApiCalls``. ``EventFeed`` follows the
recorder, PodManager, the managers of objects and the keeper of statuses while anybody reads, and tells
each reader the present state first.
"""
