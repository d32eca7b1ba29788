"""Who looks whether the agent keeps its promises, from outside. Each rule stands here once."""
