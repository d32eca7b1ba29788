"""Every actor of the agent, and what actors are made of: ``docs/architecture.md`` has the map."""
