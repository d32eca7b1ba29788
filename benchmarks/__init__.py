"""The agent's numbers, measured: ``python -m benchmarks``. No part of the agent, and no test."""
