"""The live panel."""

from io import StringIO

from rich.console import Console

from rapo.runs.display import shown
from rapo.training.config import make_config

METRICS = {"return": 120.0, "episodes": 4, "robust_gap": 0.25, "mixture": [0.5, 0.25, 0.25]}


def test_a_terminal_gets_a_live_panel():
    written = StringIO()
    config = make_config("hopper", "rapo", steps=4096)
    with shown(config, Console(file=written, force_terminal=True, width=80)) as display:
        display({"update": 1, "steps": 2048, **METRICS})
        display({"update": 2, "steps": 4096, **METRICS, "return": None})
    printed = written.getvalue()
    for word in (
        "rapo on hopper, seed 0",
        "4,096 of 4,096",
        "120",
        "0.25",
        "█▅▅",
        "largest 0.50",
        "0 min 0 s",
    ):
        assert word in printed
