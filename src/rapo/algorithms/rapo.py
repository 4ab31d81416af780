"""RAPO and its ablations: each is the algorithm with one part replaced."""

from dataclasses import replace

from rapo.algorithms.counts import Everything
from rapo.algorithms.draws import Ensemble
from rapo.algorithms.mixture import Boltzmann, Fixed
from rapo.algorithms.spec import Algorithm
from rapo.algorithms.targets import Mean, Robust, Taken
from rapo.algorithms.temperature import Exact

RAPO = Algorithm(
    "rapo",
    "robust targets at AdvNet's temperature, on a mixture that moves toward the models that hurt",
    Ensemble(),
    Robust(),
    Everything(),
    Boltzmann(),
)

NO_ADVNET = replace(
    RAPO,
    name="rapo-no-advnet",
    summary="RAPO with the temperature from a root finder",
    targets=Robust(temperature=Exact()),
)
NO_BOLTZMANN = replace(RAPO, name="rapo-no-boltzmann", summary="RAPO on the prior mixture", mixture=Fixed())
NO_BOTH = replace(
    NO_BOLTZMANN, name="rapo-no-both", summary="PPO on the prior mixture, without branches", targets=Taken()
)
MEAN = replace(
    NO_BOLTZMANN,
    name="rapo-mean",
    summary="RAPO with plain mean targets on the prior mixture",
    targets=Mean(),
)
