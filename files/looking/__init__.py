"""What is at a path, and whether a file there has settled: looks, signatures and times. Knows no content."""
