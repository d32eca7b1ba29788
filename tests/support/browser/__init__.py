"""A browser that looks at the page of an agent, and what it is driven with."""
