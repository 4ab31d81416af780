"""What the page says of one task, block by block, and the figures and tables that lie beside it.

A block without data is left out, with a line that says which command would make it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from rapo.reporting import charts, tables
from rapo.reporting import over_training as progress
from rapo.reporting import print_figures as figures
from rapo.reporting.colours import Look
from rapo.reporting.comparison import Measured, Study
from rapo.reporting.report_folder import Output
from rapo.reporting.report_page import Block, Section
from rapo.reporting.sweep_scores import KEPT
from rapo.reporting.tables import Table
from rapo.tasks.quadrotor import flight_scores as tracking

PRINTED = 4
"""Heatmaps of a task that are drawn for print, at most; the page has them all."""
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
        "Where no group returns more than 0 there is none.",
    ),
    (
        "Probability of improvement",
        "The chance that a run of one group, drawn at random, has a higher mean OOD return than one of the "
        "other; ties count half.",
    ),
    (
        "Equal cost",
        "The point of comparison is the smallest total of steps, or of seconds in physics, branches and "
        "learning, among the finished runs of a task; the figure is the mean return of the last tenth of "
        "updates before it.",
    ),
    (
        "How far",
        f"Outward from the nominal scale, as long as the mean return stays at or above {KEPT:.0%} of the "
        "nominal one.",
    ),
)


def section(study: Study, looks: Mapping[str, Look], output: Output, seed: int) -> Section:
    """All blocks of one task; `seed` of the bootstrap."""
    blocks = (
        _robustness(study, looks, output),
        _flights(study, looks, output, seed),
        _how_far(study, output),
        _how_likely(study, output),
        _ablations(study, looks, output),
        _worst_cases(study, output),
        _values(study, output),
        Block(
            "The mixture of models",
            figure=progress.mixtures(study),
            missing="training with an ensemble records it, `rapo train TASK --algo rapo`",
        ),
        Block(
            "Temperature and budget use",
            figure=progress.temperatures(study),
            missing="training with robust targets records them, `rapo train TASK --algo rapo`",
        ),
        _ensemble_size(study, output),
        _learning(study, output),
        _cost(study, output),
        _runs(study, output),
    )
    return Section(f"task-{output.names[study.task]}", study.task, blocks)


def _robustness(study: Study, looks: Mapping[str, Look], output: Output) -> Block:
    chart = charts.robustness(
        study,
        study.groups,
        "robustness",
        "Mean return as one parameter is scaled and the others stay nominal. Bands are 95% intervals over "
        "seeds, the shaded scales are those of training. Click a name to hide or show its curve.",
    )
    scores = tables.scores(study)
    files = _printed(study, chart, study.groups, looks, output)
    files += output.table(study.task, scores, tables.curves(study))
    return Block(
        "Robustness", figure=chart, table=scores, files=files, missing="`rapo sweep RUN` measures it"
    )


def _flights(study: Study, looks: Mapping[str, Look], output: Output, seed: int) -> Block:
    groups = [(m.label, m.group.runs) for m in study.groups]
    flown = tracking.flights(groups)
    if flown.is_empty():
        return Block("Flights along the test curve")
    found = tracking.drawn(flown, tracking.typical_paths(groups, flown, output.notes))
    files: tuple[str, ...] = ()
    if found:
        for name, draw in (("paths", figures.paths), ("over-time", figures.over_time)):
            files += output.figure(study.task, name, draw(tracking.beside(found), looks))
    table = tables.tracking(tracking.summaries(flown, seed))
    every = tables.Table("flights", "Every flight", flown)
    return Block(
        "Flights along the test curve",
        "How closely the payload follows the reference of the test, with payload, cable and disturbances as "
        "in training (ID) and beyond (OOD). RMSE: the mean over the flights that succeeded among the first "
        f"{tracking.TRIALS} of each run, with a bootstrap interval, flights drawn anew within each run. "
        "Crashes: the share of all flights, with Wilson's interval. The curves are the first OOD flight of "
        "the run of each group whose OOD RMSE is the median; a cross is a crash.",
        figure=charts.flights(found, looks),
        table=table,
        files=(*files, *output.table(study.task, table, every)),
    )


def _how_far(study: Study, output: Output) -> Block:
    table = tables.kept_ranges(study)
    return Block(
        "How far?",
        f"The scales over which each keeps at least {KEPT:.0%} of its own mean nominal return, one "
        "parameter at a time.",
        table=table,
        files=output.table(study.task, table),
    )


def _ablations(study: Study, looks: Mapping[str, Look], output: Output) -> Block:
    family = [m for m in study.groups if m.swept and (m.group.algo + "-").startswith("rapo-")]
    family = charts.plainest(study, family)
    chart = None
    if len(family) > 1:
        chart = charts.robustness(
            study,
            family,
            "ablations",
            "RAPO beside itself without some of its parts; bands and shading as above.",
        )
    return Block(
        "Ablations",
        figure=chart,
        files=_printed(study, chart, family, looks, output),
        missing=(
            "sweeps of `rapo` and of a variant are needed, such as `rapo train TASK --algo rapo-no-advnet`"
        ),
    )


def _printed(
    study: Study,
    chart: charts.Figure | None,
    groups: Sequence[Measured],
    looks: Mapping[str, Look],
    output: Output,
) -> tuple[str, ...]:
    """The curves that are shown at first, on paper."""
    if chart is None:
        return ()
    shown = [m for m in groups if m.swept and m.label not in chart.hidden]
    figure = figures.robustness(study, shown, looks, chart.choices[""][0]["range"])
    return output.figure(study.task, chart.name, figure)


def _how_likely(study: Study, output: Output) -> Block:
    table = tables.improvements(study)
    title, missing = (
        "How likely is it better?",
        "sweeps of two algorithms are needed, `rapo sweep RUN RUN` makes them",
    )
    if table is None:
        return Block(title, missing=missing)
    best = study.ranking[0].label
    shown = table.frame.filter(table.frame["algorithm"] == best).drop("algorithm")
    return Block(
        title,
        f"The chance that a run of {best}, drawn at random, has a higher mean OOD return than a run of "
        "these.",
        table=replace(table, frame=shown),
        files=output.table(study.task, table),
    )


def _worst_cases(study: Study, output: Output) -> Block:
    table = tables.found(study)
    shown = None
    if table is not None:
        shown = replace(table, frame=table.frame.unique("algorithm", keep="first", maintain_order=True))
    return Block(
        "Worst cases found",
        "A search of the whole test box, all parameters at once, beside the worst of the axes: the seed of "
        "each group that fared worst.",
        table=shown,
        missing="`rapo search RUN` looks for them",
        files=output.table(study.task, table),
    )


def _values(study: Study, output: Output) -> Block:
    chart = progress.heatmaps(study, output.notes)
    files: tuple[str, ...] = ()
    if chart is not None:
        plain = [m for m in charts.plainest(study, study.groups) if not m.group.algo.startswith("rapo-")]
        names = {progress.choice(run, m): m.group.algo for m in plain for run in m.group.runs}
        printed = [choice for choice in chart.choices if choice in names] or list(chart.choices)
        for choice in printed[:PRINTED]:
            figure = figures.maps(chart.choices[choice], f"{study.task}, {choice}")
            files += output.figure(study.task, f"heatmap-{names.get(choice, choice)}", figure)
    return Block(
        "What the critic expects at each scale",
        figure=chart,
        files=files,
        missing="`rapo train` records it as it goes",
    )


def _ensemble_size(study: Study, output: Output) -> Block:
    return _table(
        study,
        output,
        "Size of the ensemble",
        tables.sensitivity(study),
        "K models in the ensemble, m of them drawn for each target, as normalised return: mean ± deviation.",
        "swept runs that differ in `models` or `samples` are needed, `rapo grid FILE` makes them",
    )


def _learning(study: Study, output: Output) -> Block:
    table = tables.matched(study)
    return Block(
        "Learning at equal cost",
        figure=progress.training(study),
        table=table,
        missing="`rapo train` records it once episodes have ended",
        files=output.table(study.task, table),
    )


def _cost(study: Study, output: Output) -> Block:
    about = "Steps are those that the policy learned from; branch steps are single steps under other models."
    return _table(study, output, "Cost", tables.cost(study), about, "`rapo train` records it")


def _runs(study: Study, output: Output) -> Block:
    return _table(study, output, "Runs", tables.runs(study), "", "")


def _table(study: Study, output: Output, title: str, table: Table | None, about: str, missing: str) -> Block:
    return Block(title, about, table=table, missing=missing, files=output.table(study.task, table))
