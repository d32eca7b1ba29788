"""What tests are made of: builders, probes and fakes, typed and linted like the agent itself."""
