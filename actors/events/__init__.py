"""Events posted at the API server, and the event feed behind ``/events``."""
