"""Where pods come from: a file or a folder for each source, and what they have in common."""
