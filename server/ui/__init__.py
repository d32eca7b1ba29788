"""The page for browsers: static files, and documents with search and paging on the agent's side."""
