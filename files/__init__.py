"""Files that are looked at again and again: what is there, when it has settled, and what of it is good."""
