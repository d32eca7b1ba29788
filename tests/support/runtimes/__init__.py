"""What tests of runtimes share."""
