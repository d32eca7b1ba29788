"""The worlds in which the stories of crashes and of models happen."""
