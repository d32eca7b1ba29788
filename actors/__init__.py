"""The actors that make the decisions of the agent: a folder for each thing that they care for."""
