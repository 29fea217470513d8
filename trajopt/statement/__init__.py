"""What a person writes, and the normal form of it that both methods read."""
