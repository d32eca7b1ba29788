"""A URL as a source: one manifest, or a list of them."""
