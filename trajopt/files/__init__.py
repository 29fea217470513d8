"""Result files: contents, bytes, and writes that replace a file only when they are complete."""
