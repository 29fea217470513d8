"""Named problems and systems, one family a file, each with its published answer and source."""
