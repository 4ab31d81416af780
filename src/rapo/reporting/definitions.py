"""What the words of a report mean."""

from rapo.reporting.yardstick import KEPT

DEFINITIONS = (
    (
        "ID and OOD",
        "A setting changes one parameter and leaves the others nominal. It is in distribution (ID) if the "
        "value lies in the range that the task trains with, shaded in the figures, and out of distribution "
        "(OOD) otherwise. The nominal setting counts once.",
    ),
    (
        "Return at a setting",
        "The mean over the episodes of a run with its mean actions, then over the runs of a group, which "
        "differ in nothing but their seed. Episodes in which the physics diverged are counted and not "
        "averaged in.",
    ),
    (
        "95% interval",
        "Of means: Student's t over seeds. Of interquartile means and of probabilities: percentiles of 2,000 "
        "bootstrap samples, seeds drawn anew within each task; with few seeds these come out too narrow. One "
        "seed has no interval.",
    ),
    ("IQM", "The interquartile mean: the mean without the lowest and the highest quarter of the runs."),
    (
        "Normalised return",
        "1 is the mean nominal return of the best group of that task in this report, 0 is a return of 0. "
        "Where no group returns more than 0, as in tasks that pay for errors, 0 is what random actions "
        "return under the nominal dynamics; where that was not measured, or no group does better, there is "
        "none.",
    ),
    (
        "Probability of improvement",
        "The chance that a run of one group, drawn at random, has a higher mean OOD return than one of the "
        "other; ties count half. It is not shown for fewer than 3 runs of either.",
    ),
    (
        "Equal cost",
        "The point of comparison is the smallest total of steps, or of seconds in physics, branches and "
        "learning, among the finished runs of a task; the figure is the mean return of the last tenth of "
        "updates before it.",
    ),
    (
        "How far",
        f"Outward from the nominal scale, as long as a group keeps {KEPT:.0%} of its worth. That is its own "
        "mean nominal return, counted from the same 0 as normalised returns: from a return of 0, or from "
        "that of random actions where no group returns more than 0.",
    ),
)
"""Each with its definition, as the end of the page has them."""
