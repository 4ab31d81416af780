"""The mathematics of the paper in pure JAX: no simulator, no files."""
