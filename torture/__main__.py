"""`python -m torture`: all of it or some parts, figures as JSON; status 1 if anything came out wrong."""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rapo.files import write_atomically
from torture import damages, full_disks, hostile_options, kills, long_training
from torture.tally import Tally

PARTS: dict[str, Callable[[Any], list[Tally]]] = {
    "kills": lambda given: [kills.torture(given.kills)],
    "damages": lambda given: [
        damages.torture(damages.LEARNED, damages.LEARNED_FILES, given.damages),
    ],
    "tables": lambda given: [
        damages.torture(damages.MEASURED, damages.MEASURED_FILES, given.tables),
    ],
    "options": lambda given: [hostile_options.torture(given.options)],
    "disks": lambda given: full_disks.torture(given.disks),
}


def arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    """What is asked for: without any words, everything."""
    every = [*PARTS, "training"]
    parser = argparse.ArgumentParser(prog="python -m torture", description=__doc__)
    parser.add_argument("parts", nargs="*", default="all", choices=["all", *every])
    parser.add_argument("--json", type=Path, required=True, help="where the figures go")
    parser.add_argument("--minutes", type=float, default=60, help="how long memory is watched")
    for name, count in {"kills": 50, "damages": 750, "tables": 250, "options": 1_000, "disks": 20}.items():
        parser.add_argument(f"--{name}", type=int, default=count, help="how many of them")
    given = parser.parse_args(words)
    given.parts = every if "all" in given.parts else given.parts
    return given


def main() -> None:
    """Try what is asked for, tell of it, and write the figures; those of parts that were left out stay."""
    given = arguments()
    failed = False
    with tempfile.TemporaryDirectory(prefix="rapo-torture-") as cache:
        os.environ |= {"JAX_COMPILATION_CACHE_DIR": cache, "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
        for part in given.parts:
            began = time.monotonic()
            found: Any
            if part == "training":
                growth = long_training.torture(given.minutes)
                print(growth, flush=True)
                found = growth._asdict()
                failed |= growth.is_wrong
            else:
                tallies = PARTS[part](given)
                print(*tallies, sep="\n", flush=True)
                found = [tally.figures() for tally in tallies]
                failed |= any(tally.wrong for tally in tallies)
            print(f"{part}: {(time.monotonic() - began) / 60:.1f} minutes", flush=True)
            figures = json.loads(given.json.read_text()) if given.json.exists() else {}
            write_atomically(given.json, (json.dumps({**figures, part: found}, indent=1) + "\n").encode())
    sys.exit(failed)


if __name__ == "__main__":
    main()
