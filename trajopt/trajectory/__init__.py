"""What a solution is made of: curves, arcs, the solution, and differences of two solutions."""
