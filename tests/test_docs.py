import io
import re
from contextlib import redirect_stdout
from pathlib import Path

ROOT = Path(__file__).parent.parent


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
