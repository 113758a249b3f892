"""A page made of a hostile notebook, in a real browser: nothing of it runs."""

import subprocess

import pytest
from traitlets.config import Config

EVIL = "document.body.setAttribute('data-pwned', '1')"
MARKDOWN = f"""
# A heading, $a<b$, and a table

| a | b |
|---|---|
| 1 | 2 |

<script>{EVIL}</script>
<img src=x onerror="{EVIL}">
<svg onload="{EVIL}"><script>{EVIL}</script></svg>
<iframe srcdoc="<script>parent.{EVIL}</script>"></iframe>
<style>body {{ display: none }}</style>
<details open ontoggle="{EVIL}"><summary>more</summary></details>
[a link](javascript:{EVIL.replace("'", "%27")})

$$ x </script><script>{EVIL}</script> $$

**bold at the end**
"""


@pytest.fixture
def notebook():
    nbformat = pytest.importorskip("nbformat")
    v4 = nbformat.v4
    return v4.new_notebook(
        cells=[
            v4.new_markdown_cell(MARKDOWN),
            v4.new_raw_cell(f"<script>{EVIL}</script>"),
            v4.new_code_cell(
                f"'</pre><script>{EVIL}</script>'",
                outputs=[
                    v4.new_output("display_data", {"text/html": f"<script>{EVIL}</script>"}),
                    v4.new_output("stream", text=f"</pre><script>{EVIL}</script>"),
                ],
            ),
        ]
    )


def page_of(notebook, template, config):
    """The page, by the template and the paths that nbgrader gives it."""
    from nbconvert import HTMLExporter
    from nbgrader.converters.generate_feedback import GenerateFeedback

    config = config.copy()
    config.HTMLExporter.template_name = template
    converter = GenerateFeedback(config=config)  # which adds the templates' folder
    exporter = HTMLExporter(config=converter.config)
    about = {"score": 0, "max_score": 0, "late_penalty": 0, "notebook": "x", "student": "x"}
    resources = {"nbgrader": about}
    return exporter.from_notebook_node(notebook, resources=resources)[0]


def dom_of(page, tmp_path):
    path = tmp_path / "page.html"
    path.write_text(page, "utf-8")
    done = subprocess.run(
        [
            "chromium",
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            f"--user-data-dir={tmp_path / 'profile'}",
            "--virtual-time-budget=2000",
            "--dump-dom",
            path.as_uri(),
        ],
        capture_output=True,
        timeout=120,
        check=True,
    )
    return done.stdout.decode("utf-8", "replace")


@pytest.mark.e2e
@pytest.mark.needs_debian("chromium")
class TestFeedback:
    def test_nothing_runs(self, notebook, tmp_path):
        from autograder.nbgrader_plugin.pages import sanitise

        config = Config()
        sanitise(config)
        dom = dom_of(page_of(notebook, "feedback", config), tmp_path)
        assert "bold at the end</strong>" in dom  # the page is there, and its Markdown is
        assert "<td>1</td>" in dom
        assert 'data-pwned="1"' not in dom

    def test_stock_pages_run_it(self, notebook, tmp_path):
        """The control: this test can see a script run."""
        dom = dom_of(page_of(notebook, "feedback", Config()), tmp_path)
        assert 'data-pwned="1"' in dom


def test_configure_sanitises():
    from autograder.nbgrader_plugin import configure

    config = Config()
    configure(config)
    assert config.HTMLExporter.sanitize_html
    assert "markdown2html" in config.HTMLExporter.filters
