"""Solve a problem: by one method, by both, from several starts."""
