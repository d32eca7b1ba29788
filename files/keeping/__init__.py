"""The last good content of files on disk, for the next process. Knows no content."""
