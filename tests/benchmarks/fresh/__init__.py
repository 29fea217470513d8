"""Problems drawn from families with a seed, to judge a change by problems that it was
not made for.
"""
