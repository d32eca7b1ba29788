"""What single values of settings may be, wherever they were given."""
