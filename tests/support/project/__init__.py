"""What is checked of the project itself."""
