"""Every empirical claim of the paper: what was measured here, and whether it holds.

A verdict is computed from the files in results/, never written by hand. Where a file lacks what a claim is
about, that is the verdict.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from json import loads

import numpy as np

from evidence.heatmaps import floors, lengths
from evidence.markdown import number
from evidence.read import RESULTS, TASKS, comparisons
from rapo.reporting.comparison import LEAST, Comparison, GroupScores

HOLDS, PARTLY, FAILS, UNKNOWN = "holds", "holds in part", "does not hold", "not measured yet"
CLOSE = 0.03
"""Returns that differ by a smaller share count as equal."""
FLAT = 0.05
"""A curve that moves by a smaller share of its nominal return is flat."""
ABLATIONS = {"rapo-no-advnet": "AdvNet", "rapo-no-tilt": "the tilt", "rapo-no-both": "both"}
PRINTED = {"hopper": 0.78, "walker2d": 0.73, "halfcheetah": 0.67, "ant": 0.62}
"""Normalised returns with K = 16 in the paper's table, which does not say what they are shares of."""
NEAR = 0.05
MINUTES = 45


@dataclass(frozen=True)
class Verdict:
    """A claim beside what was measured."""

    claim: str
    measured: str
    verdict: str


def verdicts() -> list[Verdict]:
    """All claims, in the order of the paper."""
    curves = comparisons("curves.csv")
    return [
        _each("Outside of its training RAPO is ahead of PPO-DR, and PPO-DR of PPO", curves, _order),
        _each("Inside of it RAPO is as good as PPO", curves, _inside),
        _each("RAPO is ahead of EPOpt and RARL outside of its training", curves, _others),
        _each("RARL is unstable: its seeds differ more than RAPO's", curves, _unstable),
        _each("EPOpt is conservative: below PPO at nominal dynamics", curves, _conservative),
        _each("Returns do not change with friction above 1", curves, _flat),
        _each("RAPO returns more at 0.5 of the inertia than at 0.6", curves, _inertia),
        _each("Each part of RAPO adds, and without both it loses most", _ablated(), _parts),
        _heatmaps("The lowest value over all scales rises as RAPO learns", _rises),
        _heatmaps("Without reweighting the critic expects less of far scales", _darker),
        _each("Returns saturate at K = 16 models", _ensembles(), _saturates),
        _each("Returns saturate at m = 16 samples", comparisons("samples.csv"), _saturates),
        _each("Normalised returns with K = 16 are those of the paper's table", _ensembles(), _as_printed),
        _minutes(),
    ]


Judged = tuple[str, bool] | None
"""What was measured on a task and whether the claim holds there; None if the task lacks what is needed."""


def _each(claim: str, found: Iterable[Comparison], judge: Callable[[Comparison], Judged]) -> Verdict:
    """A claim about every task."""
    return _verdict(claim, {c.task: said for c in found if (said := judge(c)) is not None})


def _verdict(claim: str, judged: Mapping[str, tuple[str, bool]]) -> Verdict:
    """What was measured on each task, and whether the claim holds on all of them, on some or on none."""
    held = [task for task, (_, holds) in judged.items() if holds]
    measured = "; ".join(f"{task}: {words}" for task, (words, _) in judged.items())
    verdict = UNKNOWN if not judged else HOLDS if len(held) == len(judged) else PARTLY if held else FAILS
    if verdict == PARTLY:
        verdict += f" ({', '.join(held)})"
    return Verdict(claim, measured, verdict)


def _groups(comparison: Comparison, *labels: str) -> list[GroupScores] | None:
    """The groups of these labels; None if one of them is missing or has too few seeds."""
    known = {m.label: m for m in comparison.groups if m.swept and m.seeds >= LEAST}
    return [known[label] for label in labels] if set(labels) <= set(known) else None


def _order(comparison: Comparison) -> Judged:
    if (groups := _groups(comparison, "rapo", "ppo-dr", "ppo")) is None:
        return None
    values = [m.outside.value for m in groups]
    return ", ".join(map(number, values)), values[0] > values[1] > values[2]


def _inside(comparison: Comparison) -> Judged:
    if (groups := _groups(comparison, "rapo", "ppo")) is None:
        return None
    rapo, ppo = (m.inside.value for m in groups)
    return f"{number(rapo)} beside {number(ppo)}", rapo >= (1 - CLOSE) * ppo


def _others(comparison: Comparison) -> Judged:
    if (groups := _groups(comparison, "rapo", "epopt", "rarl")) is None:
        return None
    rapo, *others = (m.outside.value for m in groups)
    return f"{number(rapo)} beside {' and '.join(map(number, others))}", rapo > max(others)


def _unstable(comparison: Comparison) -> Judged:
    if (groups := _groups(comparison, "rarl", "rapo")) is None:
        return None
    rarl, rapo = (float(np.nanstd(m.runs_scores("outside"), ddof=1)) for m in groups)
    return f"standard deviation over seeds {number(rarl)} beside {number(rapo)}", rarl > rapo


def _conservative(comparison: Comparison) -> Judged:
    if (groups := _groups(comparison, "epopt", "ppo")) is None:
        return None
    epopt, ppo = (m.nominal.value for m in groups)
    return f"{number(epopt)} beside {number(ppo)}", epopt < (1 - CLOSE) * ppo


def _curve(m: GroupScores, parameter: str) -> dict[float, float]:
    """The mean returns of a group by the scale of a parameter."""
    return {round(p.scale, 3): p.returned.value for p in m.curves.get(parameter, [])}


def _flat(comparison: Comparison) -> Judged:
    if (groups := _groups(comparison, "rapo")) is None:
        return None
    curve = _curve(groups[0], "friction")
    above = [value for scale, value in curve.items() if scale >= 1]
    change = (max(above) - min(above)) / abs(curve[1.0])
    return f"they change by {change:.0%}", change <= FLAT


def _inertia(comparison: Comparison) -> Judged:
    if (groups := _groups(comparison, "rapo")) is None:
        return None
    curve = _curve(groups[0], "inertia")
    return f"{number(curve[0.5])} and {number(curve[0.6])}", curve[0.5] > curve[0.6]


def _ablated() -> list[Comparison]:
    return comparisons("ablations.csv")


def _parts(comparison: Comparison) -> Judged:
    if (groups := _groups(comparison, "rapo", *ABLATIONS)) is None:
        return None
    rapo, *without = (m.outside.value for m in groups)
    words = ", ".join(
        f"{number(value)} without {part}" for value, part in zip(without, ABLATIONS.values(), strict=True)
    )
    return f"{number(rapo)}, {words}", rapo > max(without) and without[-1] == min(without)


def _saturates(comparison: Comparison) -> Judged:
    """From 16 to 32 the mean of all settings changes less than from 4 to 16, or hardly at all."""
    found = {_count(m): m for m in comparison.groups}
    if not {4, 16, 32} <= set(found):
        return None
    four, sixteen, more = (found[n].outside.value for n in (4, 16, 32))
    said = f"{number(four)} with 4, {number(sixteen)} with 16, {number(more)} with 32"
    return said, abs(more - sixteen) <= max(abs(sixteen - four), CLOSE * abs(sixteen))


def _ensembles() -> list[Comparison]:
    return comparisons("ensemble-size.csv")


def _count(m: GroupScores) -> int:
    """How many models or samples a group has: what its only option says, or else 16 models, the default."""
    return int(m.label.rsplit("=", 1)[1]) if "=" in m.label else 16


def _as_printed(comparison: Comparison) -> Judged:
    """The mean of ID and OOD, as a share of the best nominal mean of the curves."""
    measure = {c.task: c.yardstick for c in comparisons("curves.csv")}.get(comparison.task)
    group = next((m for m in comparison.groups if _count(m) == 16), None)
    if measure is None or group is None:
        return None
    runs = zip(group.runs_scores("inside"), group.runs_scores("outside"), strict=True)
    share = measure.normalised(float(np.mean(list(runs))))
    if share is None:
        return None
    printed = PRINTED[comparison.task]
    return f"{share:.2f}, printed {printed:.2f}", abs(share - printed) <= NEAR


def _heatmaps(claim: str, judge: Callable[[str, int], Judged]) -> Verdict:
    """A claim about every task and length of runs whose heatmaps there are."""
    judged = {
        f"{task} {planned / 1e6:.0f}M": said
        for task in TASKS
        for planned in lengths(task)
        if (said := judge(task, planned)) is not None
    }
    return _verdict(claim, judged)


def _rises(task: str, planned: int) -> Judged:
    if (found := floors(task, "rapo", planned)) is None:
        return None
    first, last, _ = found
    return f"{number(first, 1)} to {number(last, 1)}", last > first


def _darker(task: str, planned: int) -> Judged:
    """By the lowest value over all scales, as a share of the nominal one."""
    found = [floors(task, algo, planned) for algo in ("rapo-mixture", "rapo-no-boltzmann")]
    shares = [each[1] / each[2] for each in found if each is not None and each[2] > 0]
    if len(shares) < 2:
        return None
    return f"{shares[1]:.0%} of the nominal value beside {shares[0]:.0%}", shares[1] < (1 - CLOSE) * shares[0]


def _minutes() -> Verdict:
    """Of the slowest task, at the speed of the benchmark."""
    rows = loads((RESULTS / "bench-train.json").read_text())
    parts, most = [], 0.0
    for algo, steps in (("rapo", 3_000_000), ("rapo-paper", 1_000_000)):
        slowest = max((row for row in rows if row["algo"] == algo), key=lambda row: row["seconds"])
        minutes = slowest["seconds"] * -(-steps // 2048) / 60
        most = max(most, minutes)
        parts.append(f"`{algo}` at most {minutes:.0f} minutes ({slowest['task']}, {steps:,} steps)")
    return Verdict(
        f"Every run takes at most {MINUTES} minutes", ", ".join(parts), HOLDS if most <= MINUTES else FAILS
    )
