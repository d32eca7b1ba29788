"""KubeletConfiguration files: their format, and how they are read and merged."""
