"""The live panel."""

from io import StringIO

from rich.console import Console

from rapo.runs.display import shown
from rapo.training.config import make_config

METRICS = {"return": 120.0, "episodes": 4, "divergences": 0, "robust_gap": 0.25, "mixture": [0.5, 0.25, 0.25]}


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


def test_it_says_what_matters_and_warns_where_directions_are_not_to_be_trusted():
    config = make_config("hopper", "rapo", steps=4096)
    sensed = {"sensitivity": [1.0, 1.0, 6.0, 2.0], "sensitivity_r2": 0.7, "sensitivity_poor": 0.0}
    for poor, said in ((0.0, "R2 0.70"), (1.0, "R2 0.70 (too low to trust the directions)")):
        written = StringIO()
        with shown(config, Console(file=written, width=200)) as display:
            display({"update": 1, "steps": 2048, **METRICS, **sensed, "sensitivity_poor": poor})
        assert "what matters friction 60%, torque 20%, mass 10%, inertia 10%" in written.getvalue()
        assert said in written.getvalue()
        assert ("too low" in written.getvalue()) == bool(poor)
