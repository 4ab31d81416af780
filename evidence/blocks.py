"""The parts of pages that are made from results: each is a function that returns Markdown."""

from collections.abc import Callable
from dataclasses import replace
from json import loads

import numpy as np

from evidence.claims import verdicts
from evidence.figures import ABLATIONS, CURVES, OVERVIEW, figure_names
from evidence.markdown import interval, number, table
from evidence.plan import progress
from evidence.read import RESULTS, comparisons, rows
from rapo.reporting.comparison import LEAST, Comparison, GroupScores, across

NOT_YET = "None of these runs has been made yet."


def headline() -> str:
    """Of each task: what every algorithm returns outside of its training; bold if sure."""
    found = comparisons(CURVES)
    labels = list(dict.fromkeys(m.label for c in found for m in c.groups if m.swept))
    lines = []
    for comparison in found:
        by = {m.label: m for m in comparison.groups if m.swept}
        sure = [m.outside.value for m in by.values() if m.seeds >= LEAST]
        best = max(sure) if len(sure) > 1 else None
        cells = [""] * len(labels)
        for i, label in enumerate(labels):
            if label in by:
                said = interval(by[label].outside)
                cells[i] = f"**{said}**" if by[label].outside.value == best else said
        lines.append([comparison.task, *cells])
    return table(("OOD return", *(f"`{label}`" for label in labels)), lines)


def overview() -> str:
    """The picture of all tasks."""
    if OVERVIEW not in figure_names():
        return NOT_YET
    return f"![Returns of all algorithms on each task, inside and outside of training](results/{OVERVIEW})"


def main_table() -> str:
    """RAPO beside its baselines: inside and outside of training, and the worst setting."""
    return _scores(CURVES)


def ablations_table() -> str:
    """RAPO beside itself without some of its parts."""
    return _scores(ABLATIONS)


def literal_table() -> str:
    """The paper's literal algorithm beside RAPO and the baselines at the same steps."""
    return _scores("paper-literal.csv")


def equal_time_table() -> str:
    """PPO and PPO-DR that were given the time RAPO took."""
    return _scores("equal-time.csv")


def ensemble_table() -> str:
    """Normalised returns by the number of models."""
    return _normalised("ensemble-size.csv")


def samples_table() -> str:
    """Normalised returns by the number of samples."""
    return _normalised("samples.csv")


def tuning_table() -> str:
    """What was tried for the baselines, on tuning seeds."""
    return _scores("baselines-tuning.csv")


def curves_figures() -> str:
    """A picture of each task's curves, each below a sentence that says what one sees."""
    return _figures(CURVES)


def ablations_figures() -> str:
    """A picture of each task's ablations."""
    return _figures(ABLATIONS)


def heatmaps_figures() -> str:
    """What critics expect over training, with and without reweighting."""
    names = [name for name in figure_names() if name.startswith("heatmaps-")]
    shown = [f"![Values over training, {name.removesuffix('.png')}](results/{name})" for name in names]
    return "\n\n".join(shown) or NOT_YET


def worst_table() -> str:
    """What searches of the whole test box found: means over the runs of an algorithm."""
    found = rows("worst-cases.csv")
    if found is None:
        return NOT_YET
    lines = []
    for (task, algo), runs in found.group_by(("task", "algorithm"), maintain_order=True):
        returns, axes = runs["return"].to_numpy(), runs["axis_return"].to_numpy()
        worst = runs.row(int(returns.argmin()), named=True)
        names = [c for c in ("mass", "inertia", "friction", "torque") if worst[c] is not None]
        where = ", ".join(f"{name} {worst[name]:.2f}" for name in names)
        cells = [number(returns.mean()), number(returns.min()), where, number(axes.mean())]
        lines.append([str(task), f"`{algo}`", str(len(runs)), *cells[:2], cells[3], where])
    header = ("task", "algorithm", "runs", "mean return", "lowest", "worst of the axes", "where it is lowest")
    return table(header, lines, text=2)


def across_table() -> str:
    """Normalised returns over the tasks, and how likely the best is ahead of each."""
    enough = [
        replace(c, ranking=tuple(m for m in c.ranking if m.seeds >= LEAST)) for c in comparisons(CURVES)
    ]
    found = across(enough, np.random.default_rng(1))
    if len(found) < 2:
        return f"Two algorithms with {LEAST} seeds each on every task are needed, and are not there yet."
    lines = []
    for each in found:
        beats = interval(each.beats, 2) if each.beats.known else ""
        lines.append([f"`{each.label}`", interval(each.outside_iqm, 2), beats])
    return table(
        ("algorithm", "OOD, IQM over tasks", f"beaten by `{found[0].label}` with probability"), lines
    )


def cost_table() -> str:
    """What an update costs beside one of PPO."""
    lines = []
    for row in loads((RESULTS / "bench-train.json").read_text()):
        if row["algo"] in ("ppo", "rapo", "rapo-paper"):
            minutes = row["seconds"] * _updates(row["algo"]) / 60
            lines.append([row["task"], f"`{row['algo']}`", f"{row['beside_ppo']:.2f}", f"{minutes:.1f}"])
    return table(("task", "algorithm", "an update beside PPO's", "minutes for a run"), lines, text=2)


def claims_table() -> str:
    """Every empirical claim of the paper, what was measured here, and whether it holds."""
    lines = [[v.claim, v.measured, v.verdict] for v in verdicts()]
    return table(("claim", "measured here", "verdict"), lines, text=3)


BLOCKS: dict[str, Callable[[], str]] = {
    "progress": progress,
    "headline": headline,
    "overview": overview,
    "main": main_table,
    "curves": curves_figures,
    "across": across_table,
    "worst": worst_table,
    "ablations": ablations_table,
    "ablations-figures": ablations_figures,
    "heatmaps": heatmaps_figures,
    "literal": literal_table,
    "ensemble": ensemble_table,
    "samples": samples_table,
    "equal-time": equal_time_table,
    "tuning": tuning_table,
    "cost": cost_table,
    "claims": claims_table,
}
"""By the name that a page calls them with."""


def _updates(algo: str) -> int:
    """Of a run of the evidence: 3,000,000 steps, and 1,000,000 of the paper's literal algorithm."""
    return -(-(1_000_000 if algo == "rapo-paper" else 3_000_000) // 2048)


def _scores(name: str) -> str:
    lines = []
    for comparison in comparisons(name):
        for m in (m for m in comparison.ordered if m.swept):
            at = "" if m.worst_at is None else f" at {m.worst_at[0]} {m.worst_at[1]:g}"
            lines.append(
                [
                    comparison.task,
                    _named(m),
                    str(m.seeds),
                    *(interval(x) for x in (m.nominal, m.inside, m.outside)),
                    number(m.worst.value) + at,
                ]
            )
    if not lines:
        return NOT_YET
    return table(("task", "algorithm", "seeds", "nominal", "ID", "OOD", "worst setting"), lines, text=2)


def _normalised(name: str) -> str:
    """Mean over all settings of the sweep, as a share of the best nominal mean of the curves' algorithms."""
    ones = {c.task: c.yardstick for c in comparisons(CURVES)}
    lines = []
    for comparison in comparisons(name):
        measure = ones.get(comparison.task, comparison.yardstick)
        for m in (m for m in comparison.groups if m.swept):
            shares = [measure.normalised(x.value) for x in (m.inside, m.outside)]
            cells = ["" if x is None else number(x, 2) for x in shares]
            lines.append([comparison.task, _named(m), str(m.seeds), *cells])
    if not lines:
        return NOT_YET
    return table(("task", "algorithm", "seeds", "ID, normalised", "OOD, normalised"), lines, text=2)


def _named(m: GroupScores) -> str:
    options = m.label.removeprefix(m.group.algo).strip()
    return f"`{m.group.algo}`" + (f" `{options}`" if options else "")


def _figures(name: str) -> str:
    kind = name.removesuffix(".csv")
    drawn = figure_names()
    parts = []
    for comparison in comparisons(name):
        file = f"{kind}-{comparison.task}.png"
        if file in drawn:
            parts.append(f"{_sentence(comparison)}\n\n![{_alternative(comparison)}](results/{file})")
    return "\n\n".join(parts) or NOT_YET


def _alternative(comparison: Comparison) -> str:
    names = ", ".join(m.label for m in comparison.ordered if m.swept)
    return f"Return on {comparison.task} as mass, inertia, friction and torque are scaled, of {names}"


def _sentence(comparison: Comparison) -> str:
    """What one sees on the curves of a task: who is ahead outside of training, and whether that is sure."""
    best, *others = [m for m in comparison.ordered if m.swept]
    said = (
        f"**{comparison.task}**: outside of its training `{best.label}` returns {number(best.outside.value)}"
    )
    second = others[0]
    said += f", then `{second.label}` {number(second.outside.value)}"
    if min(best.seeds, second.seeds) < LEAST:
        return f"{said}, of {best.seeds} and {second.seeds} seeds, too few to be sure of anything."
    sure = "overlap" if best.outside.overlaps(second.outside) else "are apart"
    return f"{said}; their intervals {sure}."
