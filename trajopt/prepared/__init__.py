"""Solving again: problems that are prepared once and solved for many parameters and boundary
values.
"""
