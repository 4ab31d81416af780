"""The mathematics of the paper, as pure JAX functions over arrays."""
