"""`rapo export`: a policy as a file for the robot."""

from dataclasses import dataclass
from pathlib import Path

import tyro

from rapo.cli.own_code import own_code
from rapo.errors import InputError
from rapo.screen import console


@dataclass(frozen=True)
class ExportCommand:
    """Write the policy of a run as one file: normaliser, network and limits of the actions.

    An .onnx file runs in ONNX Runtime, on a robot without rapo or Python; a .safetensors file holds plain
    arrays. Task, control rate, observation, actions, dynamics and run are in the file's metadata. The file is
    checked against the trained policy before it is kept, and can be measured itself:
    `rapo eval nominal policy.onnx`.
    """

    run_folder: tyro.conf.Positional[Path]
    """The run folder; also a .safetensors file, or a policy of `rapo zoo`."""
    out: Path | None = None
    """The file: its name ends in .onnx or .safetensors; by default policy.onnx."""
    numpy: bool = False
    """Write plain arrays; by default into policy.safetensors."""
    task: str | None = None
    """The task of the run as FILE:CLASS, where it is not built in."""
    algo: str | None = None
    """The algorithm of the run as FILE:NAME, where it is not built in."""

    def run(self) -> None:
        """Write the file and say how it was checked."""
        from rapo.deploy.export import export
        from rapo.deploy.policy_file import named_runs

        out = Path("policy.safetensors" if self.numpy else "policy.onnx") if self.out is None else self.out
        if self.numpy and out.suffix != ".safetensors":
            raise InputError(f"--numpy was given with --out {out}: names of such files end in .safetensors")
        (run,) = named_runs([self.run_folder], *own_code(self.task, self.algo))
        done = export(run, out)
        console.print(
            f"Wrote {done.path}: on {done.observations:,} observations its actions differ from those of the "
            f"trained policy by at most {done.difference:.1e}; a call takes {done.microseconds:.0f} us.",
            soft_wrap=True,
            markup=False,
            highlight=False,
        )
