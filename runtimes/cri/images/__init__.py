"""Images: finding and pulling them, the credentials for it, and removing those that are unused."""
