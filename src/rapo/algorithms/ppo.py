"""PPO, plainly and with domain randomisation."""

from dataclasses import replace

from rapo.algorithms.counts import Everything
from rapo.algorithms.draws import Nominal, Uniform
from rapo.algorithms.mixture import Fixed
from rapo.algorithms.spec import Algorithm
from rapo.algorithms.targets import Taken

PPO = Algorithm("ppo", "PPO under the nominal dynamics", Nominal(), Taken(), Everything(), Fixed())

PPO_DR = replace(
    PPO,
    name="ppo-dr",
    summary="PPO with fresh dynamics from the training ranges in every episode",
    dynamics=Uniform(),
)
