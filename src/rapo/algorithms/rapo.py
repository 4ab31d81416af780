"""RAPO and its ablations: each is the algorithm with one part replaced."""

from dataclasses import replace

from rapo.algorithms.choosing import EveryBranch
from rapo.algorithms.counts import Everything
from rapo.algorithms.draws import Ensemble
from rapo.algorithms.mixture import Boltzmann, Fixed
from rapo.algorithms.probes import Sensitivity
from rapo.algorithms.spec import Algorithm
from rapo.algorithms.steering import ITERATIONS, TiltedSteps
from rapo.algorithms.targets import Mean, Robust, Steady, Taken
from rapo.algorithms.temperature import Exact

RAPO = Algorithm(
    "rapo",
    "every step under dynamics drawn from the training box, tilted toward the worse ones",
    Ensemble(rollout="tilted"),
    Steady(),
    Everything(),
    Boltzmann(score="learned"),
    sensitivity=Sensitivity(),
    steering=TiltedSteps(),
)
NO_ADVNET = replace(
    RAPO,
    name="rapo-no-advnet",
    summary="RAPO with the temperature from a root finder",
    steering=TiltedSteps(temperature=Exact(iterations=ITERATIONS)),
)
RANDOM_KERNEL = replace(
    RAPO,
    name="random-kernel",
    summary="the control of RAPO: steps tilted as much, in random directions",
    steering=TiltedSteps(directions="random"),
)
MIXTURE = replace(
    RAPO,
    name="rapo-mixture",
    summary="RAPO at two levels: steps tilted around models of a mixture that moves toward what hurts",
    steering=TiltedSteps(box_around="model"),
)
NO_BOLTZMANN = replace(
    MIXTURE,
    name="rapo-no-boltzmann",
    summary="RAPO at two levels without reweighting: steps tilted around models of the prior mixture",
    mixture=Fixed(),
)
NO_TILT = replace(
    MIXTURE,
    name="rapo-no-tilt",
    summary="RAPO's moving mixture alone: episodes under its models, without tilted steps",
    dynamics=Ensemble(),
    steering=None,
)
EVERY_BRANCH = Algorithm(
    "rapo-exact",
    "RAPO by exact branches: every step goes on from one of them, drawn from the tilted mixture",
    Ensemble(rollout="tilted"),
    Taken(),
    Everything(),
    Fixed(),
    choosing=EveryBranch(),
)

PAPER = Algorithm(
    "rapo-paper",
    "the paper's algorithm: robust targets from branches under every model, at AdvNet's temperature",
    Ensemble(),
    Robust(),
    Everything(),
    Boltzmann(),
)
PAPER_NO_ADVNET = replace(
    PAPER,
    name="rapo-paper-no-advnet",
    summary="the paper's algorithm with the temperature from a root finder",
    targets=Robust(temperature=Exact()),
)
PAPER_NO_BOLTZMANN = replace(
    PAPER,
    name="rapo-paper-no-boltzmann",
    summary="the paper's algorithm on the prior mixture",
    mixture=Fixed(),
)
NO_BOTH = replace(
    PAPER_NO_BOLTZMANN,
    name="rapo-no-both",
    summary="PPO on the prior mixture, without tilt, reweighting or branches",
    targets=Taken(),
)
MEAN = replace(
    PAPER_NO_BOLTZMANN,
    name="rapo-mean",
    summary="plain mean targets of branches under every model, on the prior mixture",
    targets=Mean(),
)
