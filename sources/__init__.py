"""Where pods come from: a folder for each source, and what they have in common."""
