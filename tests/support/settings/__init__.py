"""Settings as tests make them."""
