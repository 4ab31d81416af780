"""A robot to begin with: what `rapo new` writes."""
