"""The API server: who we are to it, single calls, and watch streams. Knows nothing of pods."""
