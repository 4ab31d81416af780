"""One look for an algorithm everywhere: colour and marker by algorithm, dashes by its options.

The colours start from the palettes of Okabe and Ito and of Tol, which people with any kind of colour vision
can tell apart, darkened or lightened until they stand out from a white and from a dark page.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from rapo.reporting.groups import Group


@dataclass(frozen=True)
class Look:
    """How a group is drawn."""

    light: str
    """Its colour on a white page."""
    dark: str
    """Its colour on a dark page."""
    marker: int
    """The number of its marker in `MARKERS`."""
    dash: int
    """A number of a dash, 0 for a solid line."""


_PALETTE = (
    ("#0072b2", "#5bb0f0"),
    ("#d55e00", "#ff8a4c"),
    ("#b07900", "#f0b93a"),
    ("#00805e", "#2fcf9f"),
    ("#b5508c", "#ec93c4"),
    ("#2f96cf", "#9ad8fb"),
    ("#4b3aa8", "#a99cf5"),
    ("#882255", "#e0688f"),
    ("#77771a", "#c9c95a"),
    ("#5f6670", "#b4bcc8"),
    ("#8a5a2b", "#d9a571"),
    ("#117a8b", "#5fd3e4"),
)
_KNOWN = (
    "rapo",
    "ppo",
    "ppo-dr",
    "epopt",
    "rarl",
    "rapo-no-advnet",
    "rapo-no-boltzmann",
    "rapo-no-both",
    "rapo-mean",
    "rapo-paper",
)
MARKERS = ("circle", "square", "diamond", "triangle-up", "triangle-down", "x", "cross", "star", "hexagon")
"""As plotly calls them."""
MATPLOTLIB_MARKERS = ("o", "s", "D", "^", "v", "X", "P", "*", "h")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
"""As plotly calls them."""
MATPLOTLIB_DASHES = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (5, 2, 1, 2)), (0, (9, 2)), (0, (9, 2, 1, 2)))


def looks(groups: Iterable[Group]) -> dict[str, Look]:
    """How to draw each group, by its label, the same in all tasks of a report."""
    algos: list[str] = list(_KNOWN)
    variants: dict[str, list[str]] = {}
    found: dict[str, Look] = {}
    for group in groups:
        if group.algo not in algos:
            algos.append(group.algo)
        labels = variants.setdefault(group.algo, [])
        if group.label not in labels:
            labels.append(group.label)
    for algo, labels in variants.items():
        number = algos.index(algo)
        light, dark = _PALETTE[number % len(_PALETTE)]
        ordered = sorted(labels, key=lambda label: label != algo)  # the defaults are drawn solid
        for dash, label in enumerate(ordered):
            found[label] = Look(light, dark, number % len(MARKERS), dash % len(DASHES))
    return found


def numbered(number: int) -> Look:
    """How to draw one of several curves of no group: solid, each with its own colour and marker."""
    light, dark = _PALETTE[number % len(_PALETTE)]
    return Look(light, dark, number % len(MARKERS), 0)


def predicted(number: int) -> Look:
    """How to draw one of several predictions: grey, each with its own dashes."""
    return Look("#5f6670", "#b4bcc8", 0, 1 + number % (len(DASHES) - 1))
