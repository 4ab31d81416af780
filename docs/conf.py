"""Sphinx settings of the site: `make docs` builds it, and any broken link or reference fails the build."""

import inspect
import re
from importlib import import_module
from pathlib import Path, PurePosixPath
from pkgutil import walk_packages
from types import GenericAlias
from typing import Any

import jax
import matplotlib.figure  # noqa: F401, these use the types that are renamed below
import numpy.typing
import optax  # noqa: F401
import polars  # noqa: F401
import rich.table  # noqa: F401
import scipy.stats  # noqa: F401
from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer
from sphinx.util.docutils import SphinxDirective

import rapo
from rapo import arrays, heavy

project, author = "rapo", "The rapo developers"
copyright = author
version = release = rapo.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.viewcode"]
exclude_patterns = ["_build"]
highlight_language = "text"
myst_heading_anchors = 3

html_theme = "furo"
html_title = "rapo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
pygments_style, pygments_dark_style = "friendly", "native"

autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_typehints_format = "short"
python_maximum_signature_line_length = 100
viewcode_line_numbers = True
viewcode_follow_imported_members = False
toc_object_entries = False  # the margin lists modules: every function in it would double the time of a build

nitpicky = True
nitpick_ignore_regex = [
    ("py:.*", r"(?!rapo\.).*"),  # types of other libraries are named, not linked
    ("py:class", r"rapo\..*(Annotated\[.*|\.Made|\.Record)"),  # no types: an annotation, type variables
]


def _named(name: str, module: str, doc: str) -> Any:
    """A class that stands for a kind of array wherever an annotation names one."""
    return type(
        name, (), {"__module__": module, "__doc__": doc, "__class_getitem__": classmethod(GenericAlias)}
    )


# Annotations show the names that the source has for arrays, not the long types behind them.
for kind, numbers in (
    ("Floats", "float64"),
    ("Singles", "float32"),
    ("Bools", "bool"),
    ("Ids", "intp, row numbers"),
):
    setattr(arrays, kind, _named(kind, "rapo.arrays", f"A NumPy array of {numbers}."))
numpy.typing.NDArray = _named("NDArray", "numpy.typing", "")  # pyright: ignore
numpy.typing.ArrayLike = _named("ArrayLike", "numpy.typing", "")  # pyright: ignore
heavy.Array = jax.Array


class Room(SphinxDirective):
    """`.. room:: rapo.world task dynamics`: every module of a room from its docstrings, these two first."""

    required_arguments, optional_arguments = 1, 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """A section for each module."""
        room, *first = " ".join(self.arguments).split()
        named = [f"{room}.{module}" for module in first]
        text = "\n".join(
            f"{module}\n{'-' * len(module)}\n\n"
            f".. automodule:: {module}\n   :members: {', '.join(names(module))}\n"
            for module in [*named, *(module for module in modules(room) if module not in named)]
        )
        return self.parse_text_to_nodes(text, allow_section_headings=True)


class PublicNames(SphinxDirective):
    """`.. public-names::`: what `import rapo` gives, and where each name is described."""

    def run(self) -> list[nodes.Node]:
        """A table with a row for each name."""
        lines = [".. list-table::", "   :header-rows: 1", "", "   * - name", "     - what it is"]
        for name in rapo.__all__:
            home = rapo._HOME[name]
            found = getattr(import_module(home), name)
            if isinstance(found, type) or inspect.isroutine(found):
                home, said = found.__module__, found.__doc__ or ""
            else:
                said = "\n".join(ModuleAnalyzer.for_module(home).find_attr_docs().get(("", name), ()))
            known = f":py:obj:`rapo.{name} <{home}.{name}>`" if said else f"``rapo.{name}``"
            lines += [f"   * - {known}", f"     - {plain(said.strip().partition(chr(10))[0])}"]
        return self.parse_text_to_nodes("\n".join(lines))


def modules(room: str) -> list[str]:
    """The modules of a package, the package itself last if it holds anything; or the one of that name."""
    package = import_module(room)
    if not hasattr(package, "__path__"):
        return [room]
    found = [module.name for module in walk_packages(package.__path__, f"{room}.") if not module.ispkg]
    return [*found, *([room] if names(room) else [])]


def names(module: str) -> list[str]:
    """The public names that a module itself defines and says something about."""
    documented = {name for scope, name in ModuleAnalyzer.for_module(module).find_attr_docs() if not scope}
    return [
        name
        for name, found in vars(import_module(module)).items()
        if not name.startswith("_")
        and (name in documented or (getattr(found, "__module__", "") == module and found.__doc__))
    ]


def plain(text: str) -> str:
    """A docstring's text as reStructuredText: `code` stays code, and nothing else has a meaning."""
    pieces = text.split("`")
    if len(pieces) % 2 == 0:
        return re.sub(r"([\\*_|`])", r"\\\1", text)
    return "".join(
        f"``{piece}``\\ " if i % 2 else re.sub(r"([\\*_|])", r"\\\1", piece) for i, piece in enumerate(pieces)
    )


def take_in_docstring(app: Sphinx, what: str, name: str, found: Any, options: Any, lines: list[str]) -> None:
    """Indented paragraphs and columns become literal blocks, the rest plain text."""
    written: list[str] = []
    if lines and lines[0].startswith("Alias for field number"):  # Python's own words on a field
        lines.clear()
    for paragraph in re.split(r"\n\s*\n", "\n".join(lines).strip("\n")):
        if re.search(r"^    |\S {3,}\S", paragraph, re.M):
            written += ["::", "", *(f"    {line}" for line in paragraph.splitlines()), ""]
        else:
            written += [*plain(paragraph).splitlines(), ""]
    lines[:] = written


def without_arguments(
    app: Sphinx, what: str, name: str, found: Any, options: Any, arguments: str | None, returned: str | None
) -> tuple[str | None, str | None]:
    """Protocols are implemented, not made: they show no arguments."""
    return ("" if getattr(found, "_is_protocol", False) else arguments), returned


def link_sources(app: Sphinx, tree: nodes.document) -> None:
    """A link to a Python file of the package leads to its source on the site, or to its reference."""
    root = Path(app.srcdir).parent / "src"
    here = PurePosixPath(app.env.docname).parent
    for node in tree.findall(addnodes.download_reference):
        file = (Path(app.srcdir) / here / node["reftarget"]).resolve()
        if file.suffix == ".py" and file.is_relative_to(root):
            module = ".".join(file.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
            up = "../" * len(here.parts)
            page = f"{up}_modules/{module.replace('.', '/')}.html"
            if not has_page(module):
                page = f"{up}reference/{module.split('.')[1]}.html#module-{module}"
            node.replace_self(nodes.reference("", "", *node.children, refuri=page))


def has_page(module: str) -> bool:
    """Whether the source of a module is on the site: it is where a function or a class is described."""
    known = vars(import_module(module))
    return any(inspect.isclass(known[name]) or inspect.isroutine(known[name]) for name in names(module))


def setup(app: Sphinx) -> None:
    """Tell Sphinx of all this."""
    app.add_directive("room", Room)
    app.add_directive("public-names", PublicNames)
    app.connect("autodoc-process-docstring", take_in_docstring)
    app.connect("autodoc-process-signature", without_arguments)
    app.connect("doctree-read", link_sources, priority=100)
