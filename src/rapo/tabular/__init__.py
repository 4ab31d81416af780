"""Exact robust MDPs: finite states and actions, and around each row of the nominal kernel a ball."""

from rapo.tabular.classic import inventory, machine_replacement, random_mdp, slippery_grid
from rapo.tabular.ensemble import WorstCase, joint, split
from rapo.tabular.markov import exact_value, occupancy
from rapo.tabular.mdp import Mdp
from rapo.tabular.operator import BALLS, Ball, backup, worst_kernel
from rapo.tabular.solve import (
    PolicyValue,
    Solved,
    advantage,
    evaluate,
    policy_iteration,
    value_iteration,
)

__all__ = [
    "BALLS",
    "Ball",
    "Mdp",
    "PolicyValue",
    "Solved",
    "WorstCase",
    "advantage",
    "backup",
    "evaluate",
    "exact_value",
    "inventory",
    "joint",
    "machine_replacement",
    "occupancy",
    "policy_iteration",
    "random_mdp",
    "slippery_grid",
    "split",
    "value_iteration",
    "worst_kernel",
]
