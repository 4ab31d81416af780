"""The value heatmaps of a run as a measurement: they are recorded while it learns, and shown in reports."""

from rapo.evaluation.measurement import Measurement
from rapo.runs.heatmap_recorder import FILE, read_heatmap

HEATMAP = Measurement(
    name="heatmap",
    done="recorded",
    summary="What the critic expects at every scale of every parameter, every `heatmap_every` updates.",
    files={FILE: "what the critic expects under other dynamics, every now and then"},
    measure=None,
    read=lambda folder: read_heatmap(folder) or None,
    in_grids=False,
    blocks="rapo.reporting.sections:heatmap_blocks",
)
