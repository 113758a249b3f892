"""Who may import whom: modules know those above them in this list and nothing below."""

import ast
import subprocess
import sys
from pathlib import Path

from autograder.observe.worker import BESIDE

PACKAGE = Path(__file__).parents[2] / "autograder"

ORDER = [
    "result",
    "source_trees",
    "later",
    "observe.protocol",
    "observe.session",
    "observe.values",
    "observe.watching",
    "observe.tracing",
    "observe.drawing",
    "observe.modules",
    "observe.stand_ins",
    "observe.answered",
    "observe.loading",
    "observe.worker",
    "numerics",
    "program",
    "wire",
    "observe.inprocess",
    "equal_answers",
    "specification",
    "signature",
    "limits",
    "definitions",
    "exercise",
    "cases",
    "forbidden",
    "intervals",
    "invariants",
    "relations",
    "dropped",
    "checks",
    "results_view",
    "wording",
    "form",
    "comparison",
    "likeness",
    "diagnose",
    "samples",
    "rearranged",
    "rescaled",
    "failing_cases",
    "structure",
    "judge",
    "picture",
    "cards",
    "magics",
    "parsing",
    "files",
    "syntax",
    "submission",
    "syntax_trees",
    "spellings",
    "parameters",
    "normal_form",
    "form_code",
    "merging",
    "pairs",
    "solution_files",
    "pack",
    "scaffold",
    "quiz.answers",
    "quiz.typed_text",
    "quiz.symbols",
    "quiz.notation",
    "quiz.formulas",
    "quiz.enclosures",
    "quiz.agreement",
    "quiz.comparing",
    "quiz.expressions",
    "quiz.faults",
    "quiz.templates",
    "quiz.variants",
    "quiz.questions",
    "quiz.entries",
    "quiz.units",
    "quiz.choices",
    "quiz.numbers",
    "quiz.shapes",
    "quiz.matrices",
    "quiz.ordering",
    "quiz.matching",
    "quiz.formula_answers",
    "quiz.parameterised",
    "quiz.kinds",
    "quiz.judging",
    "quiz.guessing",
    "quiz.loading",
    "quiz.cells",
    "quiz",
    "case_drops",
    "versions",
    "stubs",
    "references",
    "observing",
    "following",
    "hints",
    "faults.failure",
    "faults.alike",
    "faults.runner",
    "faults.filling",
    "faults.small_inputs",
    "faults.storing",
    "faults.counterexample",
    "faults.by_hand",
    "faults.trace",
    "faults.milestones",
    "faults.scopes",
    "faults.edits",
    "faults.edits_numbers",
    "faults.edits_operators",
    "faults.edits_transposes",
    "faults.edits_names",
    "faults.edits_steps",
    "faults.nearness",
    "faults.trials",
    "faults.candidates",
    "faults.search",
    "faults.steps",
    "faults.agreement",
    "faults.remark",
    "faults.finding",
    "faults",
    "evaluation",
    "grading",
    "moves",
    "standing",
    "journal",
    "regrading",
    "opening",
    "cluster.parcels",
    "cluster.hosting",
    "cluster.connecting",
    "cluster.stream",
    "cluster",
    "selfcheck",
    "key_writing",
    "student",
    "separation",
    "source_rules",
    "validate",
    "archives",
    "importing",
    "doctor",
    "companions",
    "build",
    "leaks",
    "wheels",
    "publishing",
    "report",
    "watch",
    "progress",
    "run",
    "export",
    "demo",
    "nbgrader_plugin",
    "pytest_plugin",
    "notebook",
    "cli",
]
# Observers other than the worker: they know the language, and nothing of what is asked.
OBSERVERS = {"observe.protocol", "observe.session", "observe.worker"}
FACES = {"cli", "pytest_plugin", "nbgrader_plugin", "notebook"}


def modules():
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        name = ".".join(part for part in parts if part != "__init__")
        if name:
            yield name, path


def imports(path):
    """Names of our modules that a file imports, with whether it does so at its top."""
    tree = ast.parse(path.read_text("utf-8"))
    top = set(tree.body)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("autograder"):
            base = node.module.removeprefix("autograder").lstrip(".")
            for alias in node.names:
                inner = f"{base}.{alias.name}".lstrip(".")
                is_module = (PACKAGE / inner.replace(".", "/")).with_suffix(".py").exists()
                name = inner if is_module or not base else base
                if (PACKAGE / name.replace(".", "/")).is_dir() or is_module or base:
                    yield name, node in top


def rank(name):
    while name and name not in ORDER:
        name = name.rpartition(".")[0]
    return ORDER.index(name) if name else None


def test_imports_go_one_way():
    wrong = []
    for name, path in modules():
        if name.startswith("observe") and name not in ORDER:
            continue
        for other, at_top in imports(path):
            # faces may be called late, by what they are a face of
            if not at_top and other.split(".")[0] in FACES:
                continue
            if rank(other) is not None and rank(other) > rank(name):
                wrong.append(f"{name} imports {other}")
    assert wrong == []


def test_observers_know_only_the_language():
    wrong = []
    for name, path in modules():
        if name.startswith("observe.") and name not in ("observe.inprocess",):
            for other, _ in imports(path):
                if not other.startswith("observe"):
                    wrong.append(f"{name} imports {other}")
    assert wrong == []


def test_the_worker_imports_little():
    """What stands beside student code: the standard library, NumPy and the modules it names."""
    code = (
        "import sys; import numpy; before = set(sys.modules); "
        "import autograder.observe.worker; "
        "print(*sorted(n for n in set(sys.modules) - before if n.split('.')[0] not in "
        "sys.stdlib_module_names and not n.startswith('numpy')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", f"import types, sys; p = types.ModuleType('autograder'); "
         f"p.__path__ = [{str(PACKAGE)!r}]; sys.modules['autograder'] = p; {code}"],
        capture_output=True, text=True, check=True, encoding="utf-8",
    )  # fmt: skip
    ours = {f"autograder.observe.{name}" for name in BESIDE}
    assert set(done.stdout.split()) == {"autograder.observe", *ours}


def test_importing_the_package_is_light():
    """Neither torch nor nbgrader, nor anything else that takes long to import."""
    heavy = ["torch", "nbgrader", "matplotlib", "nbformat", "rich", "typer", "pytest", "IPython"]
    code = f"import autograder, sys; print([n for n in {heavy} if n in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, encoding="utf-8"
    )
    assert done.stdout.strip() == "[]"


def test_every_module_stands_in_the_order():
    unknown = [
        name for name, _ in modules() if not name.startswith("observe") and rank(name) is None
    ]
    assert unknown == []
