"""Being told when something at a path changes, and looking then and at every scan. Knows no content."""
