"""What stories about Services need."""
