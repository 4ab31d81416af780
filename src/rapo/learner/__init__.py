"""The learner in JAX: the mathematics of the paper, and `rollout`, its one bridge to the simulator."""
