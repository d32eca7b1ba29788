"""The API server of the tests: its objects in memory, what it allows, and the ways to reach it."""
