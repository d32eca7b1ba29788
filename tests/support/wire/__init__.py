"""Real servers, clients and proxies on loopback."""
