"""Statements for robots: motions by inverse or forward dynamics, contacts, and reaching."""

from trajopt.robots.reaching import reach
from trajopt.robots.robot_motion import Motion, motion

__all__ = ["Motion", "motion", "reach"]
