"""The summary in plain words: which policy should I trust, and how far?

Every sentence is taken from a `Comparison`; none claims more than the seeds allow.
"""

from dataclasses import dataclass
from math import isfinite

from rapo.reporting.comparison import FEW, Comparison, GroupScores
from rapo.reporting.hints import measuring
from rapo.reporting.statistics import Interval
from rapo.reporting.yardstick import KEPT


@dataclass(frozen=True)
class Summary:
    """The answer for one task."""

    task: str
    headline: str
    """The answer in one sentence."""
    facts: tuple[tuple[str, str], ...]
    """What it rests on: a heading and a sentence or two each."""
    caution: str | None
    """Why not to trust the numbers, if there is a reason."""


def number(value: float | None) -> str:
    """A number as one would write it: no digits that mean nothing."""
    if value is None or not isfinite(value):
        return "-"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return (
        f"{value:.1f}"
        if abs(value) >= 10
        else f"{value:.2f}"
        if abs(value) >= 0.1 or not value
        else f"{value:.2g}"
    )


def interval(found: Interval) -> str:
    """An estimate with its interval, as far as there is one."""
    if not found.known:
        return number(found.value)
    return f"{number(found.value)} (95% interval {number(found.low)} to {number(found.high)})"


def summarise(one: Comparison) -> Summary:
    """The answer for one task."""
    if not one.ranking:
        return Summary(one.task, _nothing(one), (*_missing(one), *_troubles(one)), None)
    best = one.ranking[0]
    facts = [("Outside the training range", _outside(one)), ("How far", _how_far(one))]
    facts.append(("Worst case", _worst(best)))
    facts += _troubles(one)
    planned = {m.label: m.group.runs[0].planned for m in one.ranking[:2]}
    if len(set(planned.values())) > 1:
        each = _listed([f"{label} from {steps:,}" for label, steps in planned.items()])
        facts.append(
            ("Not the same budget", f"The policies learned from different numbers of steps: {each}.")
        )
    return Summary(one.task, _headline(one), tuple(facts), _caution(one))


def _nothing(one: Comparison) -> str:
    """The headline where nothing can be ranked."""
    scores = [score for m in one.groups for score in m.scores]
    if sum(score.episodes for score in scores) and all(s.episodes == s.diverged for s in scores):
        return "No policy can be trusted: the physics failed in every episode of the sweeps."
    return "No policy can be trusted yet: none was tested outside of its training range."


def _missing(one: Comparison) -> list[tuple[str, str]]:
    """Which sweeps would allow a ranking."""
    if any(m.swept and not isfinite(m.nominal.value) for m in one.groups):
        return []
    names = _listed([m.label for m in one.groups])
    command = measuring("sweep", (run for m in one.groups for run in m.group.runs))
    return [("What is missing", f"Sweeps of {names} that go beyond it: {command} makes them.")]


def _troubles(one: Comparison) -> list[tuple[str, str]]:
    """What went wrong on the way: episodes that diverged, runs that are not finished."""
    facts: list[tuple[str, str]] = []
    diverged = sum(score.diverged for m in one.groups for score in m.scores)
    if diverged:
        each = _listed(
            [f"{n:,} of {m.label}" for m in one.groups if (n := sum(score.diverged for score in m.scores))]
        )
        facts.append(
            (
                "Diverged",
                f"{diverged:,} {'episode' if diverged == 1 else 'episodes'} of the sweeps ended in failed "
                f"physics ({each}); they are counted here and are in none of the means.",
            )
        )
    unfinished = [
        f"{n} of {m.label}" for m in one.groups if (n := sum(not run.finished for run in m.group.runs))
    ]
    if unfinished:
        facts.append(
            ("Not finished", f"Runs that have not learned from all their steps: {_listed(unfinished)}.")
        )
    return facts


def _headline(one: Comparison) -> str:
    best = one.ranking[0]
    if len(one.ranking) == 1:
        return f"{best.label} is the only policy that was tested: there is nothing to compare it with."
    second = one.ranking[1]
    if min(m.outside_iqm.runs if m.outside_iqm.known else 0 for m in one.ranking) < FEW:
        return f"{best.label} is ahead of {second.label}, but the seeds are too few to call it better."
    near = [m.label for m in one.ranking[1:] if best.outside_iqm.overlaps(m.outside_iqm)]
    if near:
        return f"{best.label} is ahead, but not clearly: its interval overlaps with that of {_listed(near)}."
    return f"Trust {best.label}: it is clearly the best when the physics differs from training."


def _outside(one: Comparison) -> str:
    best = one.ranking[0]
    words = f"The interquartile mean return of {best.label} is {interval(best.outside_iqm)}"
    if len(one.ranking) == 1:
        return f"{words}."
    second = one.ranking[1]
    words += f"; next is {second.label} with {interval(second.outside_iqm)}"
    if best.outside_iqm.known and second.outside_iqm.known:
        overlap = best.outside_iqm.overlaps(second.outside_iqm)
        words += f". The intervals {'overlap' if overlap else 'do not overlap'}"
    chance = one.improvements.get((best.label, second.label))
    if chance is None:
        return f"{words}."
    if chance.value == 1:
        return f"{words}. Every run of the first beats every run of the second."
    return f"{words}. A run of the first beats a run of the second with probability {interval(chance)}."


def _how_far(one: Comparison) -> str:
    """Over which scales the best group keeps its worth."""
    best, measure = one.ranking[0], one.yardstick
    found = one.kept(best)
    nominal = number(best.nominal.value)
    if not isfinite(best.nominal.value):
        command = measuring("sweep", best.group.runs)
        return f"Its nominal return was not measured, so that nothing is known of what it keeps: {command}."
    if measure.zero is None:
        command = measuring("eval random", best.group.runs[:1])
        return (
            f"Its nominal return of {nominal} is not above 0, so that a share of it means nothing. What it "
            f"keeps of its lead over random actions is said here once {command} has measured those."
        )
    if best.nominal.value <= measure.zero:
        least = f"the {number(measure.zero)} of random actions" if measure.from_random else "0"
        return f"Its nominal return of {nominal} is not above {least}: there is nothing to keep."
    parts = []
    for name in one.parameters:
        ends = found.get(name)
        if ends is None:
            continue
        scales = [p.scale for p in best.curves[name]]
        whole = ends == (min(scales), max(scales))
        only = ends[0] == ends[1]
        where = f"only at {ends[0]:g}" if only else f"from {ends[0]:g} to {ends[1]:g}"
        parts.append(f"{name} {where}{' (all that was swept)' if whole and not only else ''}")
    if measure.from_random:
        worth = f"its lead over random actions, from their return of {number(measure.zero)} to {nominal},"
    else:
        worth = f"its nominal return of {nominal}"
    return f"It keeps at least {KEPT:.0%} of {worth} for {_listed(parts)}."


def _worst(best: GroupScores) -> str:
    words = ""
    if best.worst_at is not None:
        name, scale = best.worst_at
        words = (
            f"With one parameter changed, {name} at {scale:g} is worst: a return of {interval(best.worst)}."
        )
    searched = best.searched
    if not searched:
        command = measuring("search", best.group.runs)
        return f"{words} The rest of the test box was not searched: {command} does that.".strip()
    run = searched[0]
    found = run.results["search"]
    where = _listed([f"{name} {value:.3g}" for name, value in found.point.items()])
    returned = interval(Interval(found.returned, found.low, found.high))
    axis = f"{found.axis.parameter} at {found.axis.scale:g}"
    states = f"{found.effort.final_episodes:,} initial states of its own"
    beside = f"there {axis}, the worst of its sweep, returns {number(found.axis.returned)}"
    if found.below > 0:
        said = f"{where}, where seed {run.seed} returns {returned} from {states}; {beside}"
    else:
        said = (
            f"nothing worse for seed {run.seed}: from {states} it returns {returned} at {where}, and {beside}"
        )
    return f"{words} A search of the whole box found {said}.".strip()


def _caution(one: Comparison) -> str | None:
    fewest = min(m.seeds for m in one.ranking[:2])
    if sum(len(m.group.runs) for m in one.groups) == 1:
        return "This is one run. It says how this policy does, and nothing about how another seed would."
    if fewest == 1:
        once = sum(m.seeds == 1 for m in one.ranking[:2])
        who = "Each of these" if once == len(one.ranking[:2]) else "One of these"
        return f"{who} was trained once only: what looks like a difference may be the luck of a seed."
    if fewest < FEW:
        return (
            f"Only {fewest} seeds: the luck of a seed is often larger than the difference between "
            f"algorithms, so take this as a hint and train at least {FEW}."
        )
    return None


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}" if words else ""
