"""Scripts for those who work on the agent; nothing of it runs them."""
