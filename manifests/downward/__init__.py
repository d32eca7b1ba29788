"""What the downward API tells containers of their pod: in variables and in files alike. Pure."""
