"""The report: run folders in, a page with figures and tables out.

    run folders -> records -> comparisons, one for each task -> words, tables, charts, figures -> files

`index.html` holds everything; `figures/` has PDF and PNG for print, `tables/` the numbers as CSV.
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np

from rapo.files import write_atomically
from rapo.ranges import check_seed
from rapo.reporting import tables
from rapo.reporting.colours import looks
from rapo.reporting.comparison import Comparison, across, compare_tasks
from rapo.reporting.definitions import DEFINITIONS
from rapo.reporting.groups import Loaded, find_runs, load
from rapo.reporting.report_folder import Output, prepared
from rapo.reporting.report_page import Block, ReportPage
from rapo.reporting.sections import section
from rapo.reporting.showing import Showing
from rapo.reporting.summary import summarise
from rapo.world.task import Task

PAGE = "index.html"


def report(
    folders: str | Path | Iterable[str | Path],
    out: str | Path,
    seed: int = 0,
    *,
    tasks: Sequence[Task | type[Task]] = (),
    advance: Callable[[], None] = lambda: None,
) -> Path:
    """Write a report of all runs in `folders` into the folder `out`; return the page.

    seed: of the bootstrap; tasks: those that are not built in and bring measurements of their own; advance:
    called after each run that was read.
    """
    check_seed(seed)
    runs = find_runs([folders] if isinstance(folders, str | Path) else folders)
    prepared(Path(out))
    loaded = load(runs, advance, tasks)
    return write(loaded, measured(loaded, seed), Path(out), seed)


def measured(loaded: Loaded, seed: int) -> list[Comparison]:
    """A comparison of each task."""
    return compare_tasks(loaded, np.random.default_rng(seed))


def write(loaded: Loaded, found: list[Comparison], out: Path, seed: int) -> Path:
    """Write all files of a report, the page last; return it."""
    look = looks(group for groups in loaded.tasks.values() for group in groups)
    output = Output(out, loaded.tasks)
    together = tables.across_tasks(across(found, np.random.default_rng((seed, 1))))
    sections = [
        section(Showing(comparison, look, output, seed), loaded.measurements.values()) for comparison in found
    ]
    page = ReportPage(
        _lede(loaded),
        [summarise(comparison) for comparison in found],
        None
        if together is None
        else Block("All tasks together", table=together, files=output.table(None, together)),
        sections,
        [*loaded.notes, *output.notes],
        DEFINITIONS,
        look,
        {comparison.task: [(m.label, m.outside_iqm) for m in comparison.ranking] for comparison in found},
    )
    write_atomically(out / PAGE, page.html().encode())
    return out / PAGE


def _lede(loaded: Loaded) -> str:
    groups = [group for groups in loaded.tasks.values() for group in groups]
    runs = _count(sum(len(group.runs) for group in groups), "run")
    algorithms = _count(len({group.algo for group in groups}), "algorithm")
    words = f"{runs} of {algorithms} on {_count(len(loaded.tasks), 'task')}: {', '.join(loaded.tasks)}."
    if loaded.shared:
        options = ", ".join(f"{name}={value}" for name, value in loaded.shared.items())
        words += f" All of them were trained with {options}."
    return words


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"
