"""Events: those that are posted at the API server, and those that ``/events`` tells."""
