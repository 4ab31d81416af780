"""Constants that MuJoCo derives from a model's fields, such as inverse inertias, looked up where they are
known.

Deriving them takes a third of the time of a step. Steps that are taken under ever changing dynamics come back
to the same dynamics: what was derived for those once is written where it belongs, to the same bits.
"""

from __future__ import annotations

import numpy as np

from rapo.arrays import Floats, Ids
from rapo.heavy import mjbatch, mujoco
from rapo.world.model_fields import DERIVED

MOST = 1 << 16
"""Dynamics whose constants are remembered, at most."""


class DerivedConstants:
    """The derived constants of n simulations.

    What a step reads of them are the fields `DERIVED` and the mean inertia, which scales the solver's
    tolerance. A simulation's own mean inertia can't be written: its tolerance is, by as much the other way.
    """

    def __init__(self, batch: mjbatch.Batch, model: mujoco.MjModel) -> None:
        self._batch = batch
        # Of flexes, and without slip, steps read more than is looked up here.
        self._remembers = not model.nflex and not model.opt.noslip_iterations
        self._tolerance: float = model.opt.tolerance
        self._tolerances: Floats = batch.expand("tolerance")
        self._fields: list[Floats] = [
            array for array in (batch.expand(name) for name in DERIVED) if array[0].size
        ]
        self._inertias: Floats = batch.expand("dof_M0")
        self._inertia = np.full(batch.num_sims, model.stat.meaninertia)
        self._places: dict[bytes, int] = {}
        self._known = [np.empty((0, *array.shape[1:])) for array in self._fields]
        self._known_inertia = np.empty(0)

    def put(self, rows: Floats, ids: Ids | None, remember: bool) -> None:
        """Derive constants of all simulations, or of `ids`, or look them up.

        rows: `[n, D]`, the values of all parameters that constants depend on; remember: whether to keep what
        is derived, for dynamics that may come back.
        """
        every = np.arange(self._batch.num_sims) if ids is None else ids
        keys = _keys(rows)
        places = np.array([self._places.get(key, -1) for key in keys], np.intp)
        unknown = np.flatnonzero(places < 0)
        if len(unknown):
            new = every[unknown]
            self._batch.set_const(None if len(new) == self._batch.num_sims else new)
            self._inertia[new] = self._inertias[new].mean(axis=1)
            self._tolerances[new] = self._tolerance
            if remember and self._remembers and len(self._places) < MOST:
                self._remember([keys[i] for i in unknown], new)
        if ids is None and not len(unknown):
            for array, table in zip(self._fields, self._known, strict=True):
                np.take(table, places, axis=0, out=array, mode="clip")  # other modes copy twice
            self._tolerances[...] = self._tolerance * self._known_inertia[places] / self._inertia
        elif len(unknown) < len(rows):
            known = np.flatnonzero(places >= 0)
            found, at = places[known], every[known]
            for array, table in zip(self._fields, self._known, strict=True):
                array[at] = table[found]
            self._tolerances[at] = self._tolerance * self._known_inertia[found] / self._inertia[at]

    def _remember(self, keys: list[bytes], ids: Ids) -> None:
        """Keep what was derived in simulations `ids` for dynamics of these keys."""
        first = {key: i for i, key in enumerate(keys)}
        new = ids[list(first.values())]
        begin, end = len(self._places), len(self._places) + len(first)
        if end > len(self._known_inertia):
            grown = 2 * end
            self._known = [np.resize(table, (grown, *table.shape[1:])) for table in self._known]
            self._known_inertia = np.resize(self._known_inertia, grown)
        for array, table in zip(self._fields, self._known, strict=True):
            table[begin:end] = array[new]
        self._known_inertia[begin:end] = self._inertia[new]
        self._places |= {key: begin + i for i, key in enumerate(first)}


def _keys(rows: Floats) -> list[bytes]:
    """The bytes of every row."""
    whole, width = rows.tobytes(), rows.shape[1] * rows.itemsize
    return [whole[i : i + width] for i in range(0, len(whole), width)]
