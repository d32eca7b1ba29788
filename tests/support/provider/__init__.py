"""A stage for the runtime that calls a class, and classes to be called."""
