"""What MirrorKeeper is made of: decisions, what is known of each name, and the calls about it."""
