"""Layer normalization, small enough to read."""
