"""Draws the stills of a run: the nominal dynamics, and below them the worst that were found."""

from __future__ import annotations

from rapo.deploy.clips import clips
from rapo.deploy.film import strip_of
from rapo.evaluation.measurement import Advance
from rapo.evaluation.search import read_search
from rapo.evaluation.stills import FILE, Stills, StillsSettings, read_stills
from rapo.files import write_atomically
from rapo.runs.run import Run


def draw_stills(run: Run, chosen: StillsSettings, *, threads: int, advance: Advance) -> Stills | None:
    """Play, draw and write `stills.png`; `advance` is called once a step."""
    updates = run.trained_policy().updates
    rows = clips([run], seed=chosen.seed, threads=threads, advance=advance)
    found = read_search(run.folder)
    if found is not None and found.updates == updates:
        rows += clips([run], worst=True, seed=chosen.seed, threads=threads, advance=advance)
    shown = [clip for row in rows for clip in row]
    about = {
        "updates": updates,
        "seconds": chosen.seconds,
        "seed": chosen.seed,
        "lines": [f"{clip.dynamics_name}: return {clip.returned:,.0f}" for clip in shown],
    }
    write_atomically(run.folder / FILE, strip_of(rows, chosen.seconds, about))
    return read_stills(run.folder)
