"""What the agent is told: flags and configuration files, settled into one value."""
