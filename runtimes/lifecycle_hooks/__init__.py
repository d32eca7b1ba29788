"""What a container's ``lifecycle`` says: hooks that are carried out after its start and before its stop."""
