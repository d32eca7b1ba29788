"""A runtime that speaks the CRI, in memory: as a wire of the test's clock, and as a gRPC server."""
