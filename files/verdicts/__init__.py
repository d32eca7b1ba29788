"""What becomes of each file of a directory: its last good content, and a verdict for its owner."""
