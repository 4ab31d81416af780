"""Pictures in a report: the stills of each group's policy, and films where they lie in run folders."""

from rapo.evaluation.stills import FILM
from rapo.reporting.hints import measuring
from rapo.reporting.report_page import Block, Shown
from rapo.reporting.showing import Showing

GROUPS = 6
"""Groups whose stills are on the page, at most."""


def stills_blocks(showing: Showing) -> list[Block]:
    """The stills and the film of one run of each group, the best groups first."""
    comparison, output, shown = showing.comparison, showing.output, []
    for m in comparison.ordered[:GROUPS]:
        run = next((run for run in m.group.runs if "stills" in run.results), None)
        filmed = next((each for each in m.group.runs if (each.folder / FILM).is_file()), None)
        if run is not None:
            found = run.results["stills"]
            words = f"{m.label}, seed {run.seed}. {'; '.join(found.lines)}."
            shown.append(Shown(words, png=found.png))
        if filmed is not None:
            link = output.copied(comparison.task, f"{m.label}-{filmed.seed}", filmed.folder / FILM)
            if link is not None:
                shown.append(Shown(f"{m.label}, seed {filmed.seed}: {FILM} of its run folder.", film=link))
    about = "One episode from left to right, a line for each of the dynamics, always from the same state."
    return [
        Block(
            "What it looks like",
            about if any(each.png for each in shown) else "",
            shown=tuple(shown),
            missing=f"{measuring('eval stills', comparison.runs)} draws it, and `rapo video` films it",
        )
    ]
