"""What the page says of one task, block by block, and the figures and tables that lie beside it.

A block without data is left out, with a line that says which command would make it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from rapo.evaluation.measurement import Measurement, load_name
from rapo.reporting import charts, over_training, tables
from rapo.reporting import print_figures as figures
from rapo.reporting.colours import Look
from rapo.reporting.comparison import LEAST, Comparison, GroupScores
from rapo.reporting.hints import measuring, training
from rapo.reporting.report_folder import Output
from rapo.reporting.report_page import Block, Section
from rapo.reporting.showing import Showing
from rapo.reporting.summary import number
from rapo.reporting.tables import Table
from rapo.reporting.uncertainty import uncertainty_figure, uncertainty_table
from rapo.reporting.yardstick import KEPT

PRINTED = 4
"""Heatmaps of a task that are drawn for print, at most; the page has them all."""


def section(showing: Showing, measurements: Iterable[Measurement]) -> Section:
    """All blocks of one task: what each measurement adds, then what training recorded."""
    blocks: list[Block] = []
    for measurement in measurements:
        if measurement.blocks is not None:
            blocks += load_name(measurement.blocks)(showing)
    blocks += _training_blocks(showing)
    task = showing.comparison.task
    return Section(f"task-{showing.output.names[task]}", task, tuple(blocks))


def sweep_blocks(showing: Showing) -> list[Block]:
    """What sweeps say: curves, how far and how likely, and the ablations."""
    comparison, looks, output = showing.comparison, showing.looks, showing.output
    return [
        _robustness(comparison, looks, output),
        _how_far(comparison, output),
        _how_likely(comparison, output),
        _ablations(comparison, looks, output),
    ]


def search_blocks(showing: Showing) -> list[Block]:
    """The worst cases that were found."""
    return [_worst_cases(showing.comparison, showing.output)]


def heatmap_blocks(showing: Showing) -> list[Block]:
    """What the critic expected during training."""
    return [_values(showing.comparison, showing.output)]


def _training_blocks(showing: Showing) -> list[Block]:
    """What every run records while it learns."""
    comparison, output = showing.comparison, showing.output
    mixtures, other = over_training.mixtures(comparison), training("rapo", comparison.runs[0])
    return [
        Block(
            "The mixture of models",
            figure=mixtures.figure,
            missing=mixtures.left_out or f"training with an ensemble records it, {other}",
        ),
        Block(
            "Temperature and budget use",
            figure=over_training.temperatures(comparison),
            missing=f"training against an adversary records them, {other}",
        ),
        _uncertainty(comparison, output),
        _ensemble_size(comparison, output),
        _learning(comparison, output),
        _cost(comparison, output),
        _runs(comparison, output),
    ]


def _robustness(comparison: Comparison, looks: Mapping[str, Look], output: Output) -> Block:
    chart = charts.robustness(
        comparison,
        comparison.groups,
        "robustness",
        "Mean return as one parameter is scaled and the others stay nominal. Bands are 95% intervals over "
        "seeds, the shaded scales are those of training. Click a name to hide or show its curve.",
    )
    scores = tables.scores(comparison)
    files = _printed(comparison, chart, comparison.groups, looks, output)
    files += output.table(comparison.task, scores, tables.curves(comparison))
    return Block(
        "Robustness",
        figure=chart,
        table=scores,
        files=files,
        missing=f"{measuring('sweep', comparison.runs)} measures it",
    )


def _how_far(comparison: Comparison, output: Output) -> Block:
    table = tables.kept_ranges(comparison)
    measure, worth = comparison.yardstick, "its own mean nominal return"
    if measure.zero is not None and measure.from_random:
        worth = f"its own lead over random actions, which return {number(measure.zero)}"
    return Block(
        "How far?",
        f"The scales over which each keeps at least {KEPT:.0%} of {worth}, one parameter at a time.",
        table=table,
        files=output.table(comparison.task, table),
    )


def _ablations(comparison: Comparison, looks: Mapping[str, Look], output: Output) -> Block:
    family = [m for m in comparison.groups if m.swept and (m.group.algo + "-").startswith("rapo-")]
    family = charts.plainest(comparison, family)
    chart = None
    if len(family) > 1:
        chart = charts.robustness(
            comparison,
            family,
            "ablations",
            "RAPO beside itself without some of its parts; bands and shading as above.",
        )
    return Block(
        "Ablations",
        figure=chart,
        files=_printed(comparison, chart, family, looks, output),
        missing=(
            "sweeps of `rapo` and of a variant are needed, such as "
            f"{training('rapo-no-advnet', comparison.runs[0])} trains"
        ),
    )


def _printed(
    comparison: Comparison,
    chart: charts.Figure | None,
    groups: Sequence[GroupScores],
    looks: Mapping[str, Look],
    output: Output,
) -> tuple[str, ...]:
    """The curves that are shown at first, on paper."""
    if chart is None:
        return ()
    shown = [m for m in groups if m.swept and m.label not in chart.hidden]
    figure = figures.robustness(comparison, shown, looks, chart.choices[""][0]["range"])
    return output.figure(comparison.task, chart.name, figure)


def _how_likely(comparison: Comparison, output: Output) -> Block:
    table = tables.improvements(comparison)
    title = "How likely is it better?"
    missing = f"it takes sweeps of at least {LEAST} runs of each of two algorithms"
    if table is None:
        return Block(title, missing=missing)
    best = comparison.ranking[0].label
    shown = table.frame.filter(table.frame["algorithm"] == best).drop("algorithm")
    return Block(
        title,
        f"The chance that a run of {best}, drawn at random, has a higher mean OOD return than a run of "
        "these.",
        table=replace(table, frame=shown),
        files=output.table(comparison.task, table),
    )


def _worst_cases(comparison: Comparison, output: Output) -> Block:
    table = tables.found(comparison)
    shown = None
    if table is not None:
        shown = replace(table, frame=table.frame.unique("algorithm", keep="first", maintain_order=True))
    return Block(
        "Worst cases found",
        "A search of the whole test box, all parameters at once, beside the worst setting of the sweep, both "
        "played from the same initial states, which are not those of the sweep: the seed of each group that "
        "fared worst.",
        table=shown,
        missing=f"{measuring('search', comparison.runs)} looks for them",
        files=output.table(comparison.task, table),
    )


def _values(comparison: Comparison, output: Output) -> Block:
    drawn = over_training.heatmaps(comparison)
    chart = drawn.figure
    files: tuple[str, ...] = ()
    if chart is not None:
        plain = [
            m for m in charts.plainest(comparison, comparison.groups) if not m.group.algo.startswith("rapo-")
        ]
        names = {over_training.choice(run, m): m.group.algo for m in plain for run in m.group.runs}
        printed = [choice for choice in chart.choices if choice in names] or list(chart.choices)
        for choice in printed[:PRINTED]:
            figure = figures.maps(chart.choices[choice], f"{comparison.task}, {choice}")
            files += output.figure(comparison.task, f"heatmap-{names.get(choice, choice)}", figure)
    return Block(
        "What the critic expects at each scale",
        figure=chart,
        files=files,
        missing=drawn.left_out or "it is recorded every `heatmap_every` updates, and no run came that far",
    )


def _ensemble_size(comparison: Comparison, output: Output) -> Block:
    return _table(
        comparison,
        output,
        "Size of the ensemble",
        tables.sensitivity(comparison),
        "K models in the ensemble, m of them drawn for each target, as normalised return: mean ± deviation.",
        "swept runs that differ in `models` or `samples` are needed, such as "
        f"{training('rapo', comparison.runs[0], ' --set models=4')} trains",
    )


def _uncertainty(comparison: Comparison, output: Output) -> Block:
    table = uncertainty_table(comparison)
    return Block(
        "Which uncertainty matters?",
        figure=uncertainty_figure(comparison),
        table=table,
        missing=f"training with sensitivities records it, {training('rapo', comparison.runs[0])}",
        files=output.table(comparison.task, table),
    )


def _learning(comparison: Comparison, output: Output) -> Block:
    table = tables.matched(comparison)
    return Block(
        "Learning at equal cost",
        figure=over_training.training(comparison),
        table=table,
        missing="it is recorded once episodes of training have ended",
        files=output.table(comparison.task, table),
    )


def _cost(comparison: Comparison, output: Output) -> Block:
    about = "Steps are those that the policy learned from; branch steps are single steps under other models."
    return _table(
        comparison, output, "Cost", tables.cost(comparison), about, "it is recorded while a run learns"
    )


def _runs(comparison: Comparison, output: Output) -> Block:
    return _table(comparison, output, "Runs", tables.runs(comparison), "", "")


def _table(
    comparison: Comparison, output: Output, title: str, table: Table | None, about: str, missing: str
) -> Block:
    return Block(title, about, table=table, missing=missing, files=output.table(comparison.task, table))
