"""One module for each subcommand. Each has ``command``, which ``command.main`` imports when it is typed."""
