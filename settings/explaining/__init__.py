"""What of flags and configuration files is obeyed, ignored or refused, and why."""
