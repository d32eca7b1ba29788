"""Scripts for developers. The agent does not use them."""
