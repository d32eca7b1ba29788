"""What tests of images share."""
