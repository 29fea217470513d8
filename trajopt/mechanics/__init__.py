"""Mechanisms: from bodies, joints and constraints to equations of motion."""
