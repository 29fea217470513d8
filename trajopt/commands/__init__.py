"""What the commands do; their options are declared in ``trajopt.__main__``."""
