"""The compiled core: models at many points in C.

Optional: without it CasADi does the same work, with the same answers.
"""
