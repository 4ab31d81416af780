"""Other ways to a robust kernel, as compositions: RNAC, by double sampling or the critic's norm, and EWoK."""

from dataclasses import replace

from rapo.algorithms.choosing import DoubleSampling, Resampling
from rapo.algorithms.ppo import PPO
from rapo.algorithms.rapo import EVERY_BRANCH
from rapo.algorithms.targets import CriticNorm

RNAC = replace(
    EVERY_BRANCH,
    name="rnac",
    summary="RNAC: every step goes on from one of two branches, the worse one twice as likely",
    choosing=DoubleSampling(),
)
RNAC_NORM = replace(
    PPO,
    name="rnac-norm",
    summary="RNAC with targets lowered by the norm of the critic's last layer",
    targets=CriticNorm(),
)
EWOK = replace(
    EVERY_BRANCH,
    name="ewok",
    summary="EWoK: every step goes on from one of a few branches, worse ones more likely",
    choosing=Resampling(),
)
