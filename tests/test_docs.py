"""The pages of README and docs: what they show runs, what they name exists, and their site can be read."""

import ast
import io
import re
import runpy
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from rapo.cli import main

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "rapo"
DOCS = sorted((ROOT / "docs").glob("*.md"))
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "results/README.md")] + DOCS
BASE = {"errors", "files", "arrays", "heavy", "ranges", "screen", "xla", "robust"}


def blocks(page, language):
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


def write_files(page, folder):
    """Blocks that begin with the name of a file, in a comment, as that file."""
    for block in (*blocks(page, "xml"), *blocks(page, "python")):
        if name := re.match(r"(?:# |<!-- )([\w-]+\.\w+)(?: -->)?\n", block):
            (folder / name[1]).write_text(block)


def run_examples(page, folder):
    """Run the Python blocks of a page, one after the other; returns the names they leave."""
    write_files(page, folder)
    names: dict[str, object] = {}
    for i, code in enumerate(blocks(page, "python")):
        file = folder / f"example_{i}.py"
        file.write_text(code)
        exec(compile(code, str(file), "exec"), names)
    return names


def table(page, header):
    lines = page.read_text().splitlines()
    rows = []
    for line in lines[lines.index(header) + 2 :]:
        if not line.startswith("|"):
            return rows
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("page", [p for p in PAGES if "```python" in p.read_text()], ids=lambda p: p.stem)
def test_the_examples_run_as_printed(page, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_examples(page, tmp_path)
    if page.stem == "tasks":
        assert "(64, 16, 11)" in capsys.readouterr().out


def test_the_theory_page_prints_what_it_says():
    text = (ROOT / "docs" / "theory.md").read_text(encoding="utf-8")
    pairs = re.findall(r"```python\n(.*?)```\n```text\n(.*?)```", text, re.DOTALL)
    assert len(pairs) == text.count("```python") > 5
    names: dict[str, object] = {}
    for code, printed in pairs:
        out = io.StringIO()
        with redirect_stdout(out):
            exec(code, names)
        assert out.getvalue() == printed, code


def test_the_robot_of_the_readme_works_with_the_model_of_its_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_files(ROOT / "docs" / "your-robot.md", tmp_path)
    write_files(ROOT / "README.md", tmp_path)
    from rapo import make_simulator, make_task

    task = make_task("my_robot.py:Cart")
    assert make_simulator(task, 3, seed=0).step([[0.0]] * 3).reward.shape == (3,)


def test_the_worked_example_has_less_than_80_lines_and_ends_with_a_policy_on_disk(
    tmp_path, monkeypatch, capsys
):
    example = runpy.run_path(str(ROOT / "docs" / "worked_example.py"))
    code = [*example["files"]().values(), *example["blocks"]()]
    assert list(example["files"]()) == ["cart.xml", "my_robot.py"]
    assert 30 < sum(len(part.splitlines()) for part in code) < 80
    monkeypatch.chdir(tmp_path)
    for name, text in example["files"]().items():
        Path(name).write_text(text)
    shorter = {
        "train": ("--steps", "64", "--set", "num_envs=4", "horizon=16", "minibatches=2"),
        "sweep": ("--episodes", "1"),
        "search": ("--generations", "1", "--population", "4", "--episodes", "1", "--final-episodes", "2"),
    }
    for _, *words in example["commands"]():
        if words[0] == "train":
            steps = words.index("--steps")
            assert float(words[steps + 1]) <= 300_000
            del words[steps : steps + 2]
        main([*words, *shorter.get(words[0], ())])
    assert "Every parameter that was tried changes something." in capsys.readouterr().out
    assert {path.name for path in tmp_path.iterdir()} >= {"policy.safetensors", "report", "runs"}


def test_the_pictures_are_there():
    for page in PAGES:
        for path in re.findall(r"!\[.*?\]\((.*?)\)", page.read_text()):
            assert (page.parent / path).is_file()


def test_every_file_that_a_page_links_to_is_there():
    for page in PAGES:
        for path in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / path).exists(), f"{page.name}: {path}"


def test_every_file_that_a_page_names_is_there():
    for page in PAGES:
        for path in re.findall(r"`((?:src|tests|docs|grids|results)/[\w./-]+)`", page.read_text()):
            if not path.startswith("docs/_build"):
                assert (ROOT / path).exists(), f"{page.name}: {path}"


def test_every_place_that_the_architecture_names_is_in_its_file():
    page = ROOT / "docs" / "architecture.md"
    for what, where, name in table(page, "| what | file | name |"):
        path = re.search(r"\((.*?)\)", where)
        assert path is not None, what
        if name:
            scope: ast.AST | None = ast.parse((page.parent / path[1]).read_text())
            for part in name.strip("`").split("."):
                scope = next((node for node in ast.iter_child_nodes(scope) if part in defined(node)), None)
                assert scope is not None, f"{what}: {name} is not in {path[1]}"


def defined(node):
    """The names that a statement defines."""
    if isinstance(node, ast.Assign):
        return {target.id for target in node.targets if isinstance(target, ast.Name)}
    return {getattr(node, "name", None)}


def test_rooms_import_only_what_the_architecture_allows():
    rooms = {path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists()}
    rows = table(ROOT / "docs" / "architecture.md", "| room | its job | may import |")
    allowed = {room.strip("`"): set(re.findall(r"`(\w+)`", may)) for room, _, may in rows}
    assert set(allowed) == rooms
    allowed["cli"] = rooms | {"demo"}
    for room in rooms:
        for file in (SOURCE / room).rglob("*.py"):
            other = imported(file) - allowed[room] - BASE - {room}
            assert not other, f"{file.relative_to(SOURCE)} imports {other}"
    for name in BASE - {"robust"}:
        assert imported(SOURCE / f"{name}.py") <= BASE


def imported(file):
    """The rooms and base modules that a file imports, other than for type checkers alone."""
    tree = ast.parse(file.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = []
    names = [f"{n.module}.{a.name}" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) for a in n.names]
    names += [a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names]
    return {name.split(".")[1] for name in names if name.startswith("rapo.")} - {"__version__"}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built as `make docs` does."""
    folder = tmp_path_factory.mktemp("site")
    command = ["-m", "sphinx", "-W", "--keep-going", "-n", "-q", "-b", "html", "docs", str(folder)]
    built = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    return folder


def test_every_link_of_the_site_leads_somewhere(site):
    broken = [
        f"{page.relative_to(site)}: {link}"
        for page in site.rglob("*.html")
        for link in set(
            re.findall(r'<(?:a|img|link|script)\b[^>]* (?:href|src)="(?!\w+:)([^"#?]+)', page.read_text())
        )
        if not (page.parent / link).exists()
    ]
    assert broken == []


@pytest.mark.parametrize("width", [400, 1400])
def test_no_page_of_the_site_is_wider_than_its_window(site, opened, width):
    for page in [*(site / f"{page.stem}.html" for page in DOCS), site / "reference" / "index.html"]:
        with opened(page.as_uri(), width=width) as tab:
            assert tab.evaluate("document.documentElement.scrollWidth") <= width, page.name
            assert tab.wrong == []
