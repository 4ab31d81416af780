"""The order of the house: one name for one thing, and commands that answer without loading what is slow."""

import ast
import json
import re
import subprocess
import sys
from collections import Counter
from importlib import import_module
from pathlib import Path

import pytest

import rapo

CLONE = Path(__file__).parents[1]
MODULES = sorted(Path(rapo.__file__).parent.rglob("*.py"))
SLOW = ("jax", "mujoco", "numba", "scipy", "polars", "matplotlib")
QUICK = ("rapo.cli.train_command", "rapo.cli.measure_command", "rapo.cli.list_command")


def shared(names):
    return [name for name, count in Counter(names).items() if count > 1]


def test_no_two_modules_share_a_file_name():
    names = [path.name for path in MODULES if path.name not in ("__init__.py", "__main__.py")]
    assert len(names) > 100
    assert not shared(names)


def test_no_two_classes_share_a_name():
    trees = [ast.parse(path.read_text()) for path in MODULES]
    names = [node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    assert len(names) > 100
    assert not shared(names)


def test_no_module_imports_a_private_name_of_another():
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("rapo"):
                private = [a.name for a in node.names if a.name.startswith("_") and a.name != "__version__"]
                assert not private, f"{path} imports {private} from {node.module}"


def test_help_version_and_quick_commands_load_nothing_slow():
    code = f"""
import contextlib, importlib, io, json, sys
loaded = {{}}
def note(what):
    loaded[what] = [name for name in {SLOW!r} if name in sys.modules]
import rapo
note("import rapo")
from rapo.cli import main
for asked in ("--help", "--version"):
    with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.suppress(SystemExit):
        main([asked])
    assert "rapo" in said.getvalue()
    note("rapo " + asked)
for module in {QUICK!r}:
    importlib.import_module(module)
    note(module)
print(json.dumps(loaded))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = json.loads(done.stdout)
    assert loaded == {key: [] for key in ("import rapo", "rapo --help", "rapo --version", *QUICK)}


@pytest.mark.parametrize("name", rapo.__all__)
def test_a_public_name_is_what_its_home_has(name):
    (home,) = (module for module, names in rapo._HOMES.items() if name in names)
    assert getattr(rapo, name) is getattr(import_module(home), name)


def test_every_public_name_has_a_home_and_is_listed():
    assert sorted(rapo.__all__) == sorted(rapo._HOME)
    assert set(rapo.__all__) <= set(dir(rapo))
    with pytest.raises(AttributeError, match="module 'rapo' has no attribute 'missing'"):
        _ = rapo.missing


def test_hooks_before_a_commit_run_what_make_lint_runs():
    hooks = re.findall(r"entry: (.*)", (CLONE / ".pre-commit-config.yaml").read_text())
    recipe = re.search(r"^lint:.*\n((?:\t.*\n)+)", (CLONE / "Makefile").read_text(), re.MULTILINE)
    assert recipe
    assert hooks == [line.strip() for line in recipe[1].replace("$(VENV)", ".venv").splitlines()]
