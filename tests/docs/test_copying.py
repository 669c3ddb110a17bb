"""Examples in the documentation are copied without prompts and answers."""

import ast
import re
from html import unescape
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest
from markdown import markdown

ROOT = Path(__file__).parents[2]
PAGES = sorted(page for page in (ROOT / "docs").glob("*.md") if ">>> " in page.read_text(encoding="utf-8"))
SESSION = """\
Words.

```python
>>> def double(x):
...     return 2 * x
>>> double(len("<b>"))       # a & b
6
>>> double(
...     None)
Traceback (most recent call last):
TypeError: ...
```

```
hybriddp demo
```
"""


@pytest.fixture(scope="module")
def hook() -> ModuleType:
    spec = spec_from_file_location("copying", ROOT / "scripts" / "copying.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _copied(hook: ModuleType, text: str) -> list[str]:
    """What the button over each of a page's sessions copies."""
    html = markdown(hook.on_page_markdown(text), extensions=["pymdownx.highlight", "pymdownx.superfences"])
    return [unescape(code) for code in re.findall(r'<pre data-copy="([^"]*)">', hook.on_page_content(html))]


def test_a_session_is_copied_as_code(hook: ModuleType) -> None:
    code = 'def double(x):\n    return 2 * x\n\ndouble(len("<b>"))       # a & b\ndouble(\n    None)\n'
    assert _copied(hook, SESSION) == [code]


def test_what_is_shown_stays(hook: ModuleType) -> None:
    html = '<pre><span></span><code><span class="gp">&gt;&gt;&gt; </span>1\n<span class="go">1</span>\n</code></pre>'
    assert hook.on_page_content(html) == html.replace("<pre>", '<pre data-copy="1\n">')
    assert hook.on_page_content(html.replace("&gt;", "$")) == html.replace("&gt;", "$")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_session_of_every_page_is_copied_without_prompts(hook: ModuleType, page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    copied = _copied(hook, text)
    assert len(copied) == len(re.findall(r"^```python\n>>> ", text, re.MULTILINE))
    assert sum(code.count("\n") for code in copied) >= text.count("\n>>> ")
    for code in copied:
        assert ">>>" not in code
        assert ast.parse(code).body
