"""Direct collocation: from a problem to a nonlinear program and back."""
