"""Families of solutions over a grid of settings."""
