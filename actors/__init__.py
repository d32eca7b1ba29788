"""The actors that decide what the agent does: a folder for each domain."""
