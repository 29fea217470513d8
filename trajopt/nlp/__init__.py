"""Nonlinear programs made of small functions mapped over many places, and the solvers for them."""
