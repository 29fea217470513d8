"""Where the methods begin: straight lines, earlier solutions, and variations of them."""
