"""What was typed: the flags of the command line."""
