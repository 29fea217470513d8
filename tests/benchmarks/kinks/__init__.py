"""Problems with kinks, on which the optimum sits."""
