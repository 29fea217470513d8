"""Pictures of answers and motions, made without a display."""
