"""EPOpt: domain randomisation that learns from the worst trajectories only."""

from dataclasses import replace

from rapo.algorithms.counts import Worst
from rapo.algorithms.ppo import PPO_DR

EPOPT = replace(
    PPO_DR, name="epopt", summary="PPO-DR that learns from the worst tenth of trajectories", counts=Worst()
)
