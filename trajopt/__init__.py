"""Optimal-control trajectories of mechanical systems, with a certificate."""
