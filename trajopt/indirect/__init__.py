"""Pontryagin's side: Hamiltonian system, control laws, arcs and shooting."""
