"""Forward integration of systems, with invariants stabilized."""
