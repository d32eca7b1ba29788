"""The test's clock, stages on which actors run, probes that listen, and players."""
