"""Who may import whom (the README's architecture), read from the source of every module."""

import ast
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

MATHS = ("logits", "selection", "targeting", "metrics", "ranking", "learning", "finetune", "acquisition", "posterior")
MATHS += ("draws", "calibration", "decomposition", "kernel", "bounded", "batches", "online", "choice", "greedy")
MATHS += ("reasons", "layout", "alike", "figures")
WITH_DATABASE = ("commands", "data_commands", "rounds", "queue", "jobs", "worker", "demo_project")
WITH_DATABASE += (
    "projects",
    "importing",
    "sources",
    "answers",
    "changes",
    "confined",
    "export",
    "scored",
    "duplicates",
    "evaluation",
    "comparison",
    "workspace",
    "why",
    "intake",
)
WITH_DATABASE += ("gaussians", "prompting", "class_texts", "team", "people", "classes")
WITH_DATABASE += ("accounts", "logins", "user_commands", "atlas", "audit", "search", "cockpit", "history", "grid")
WITH_DATABASE += (
    "orders",
    "cards",
    "ending",
    "serving",
    "reviewing",
    "sorting",
    "handlers",
    "simulation",
    "model_export",
)
MODULES = sorted(path for folder in ("core", "db", "pages") for path in (ROOT / folder).rglob("*.py"))


def imported(path: Path) -> set[str]:
    """Every module that a file imports, inside functions too, but not for type checking alone."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    skipped = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in ast.walk(node)
    }
    names = set()
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names |= {node.module or ""} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def starts(names: set[str], *roots: str) -> set[str]:
    return {name for name in names if any(name == root or name.startswith(root + ".") for root in roots)}


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_module_imports_only_what_its_layer_may(path):
    names, parts = imported(path), path.relative_to(ROOT).with_suffix("").parts
    if parts[0] == "db":
        ours = starts(names, "core", "pages", "streamlit", "torch")
        assert not ours, f"db knows the database alone, not {ours}"
    if parts[0] == "core":
        assert not starts(names, "streamlit", "pages"), "core knows no page"
        if parts[1] not in WITH_DATABASE:
            assert not starts(names, "sqlalchemy", "db"), "only rounds, queue, jobs and imports know the database"
        if parts[1] in MATHS:
            allowed = ("torch", "core", "safetensors", "__future__", *sys.stdlib_module_names)
            assert names == starts(names, *allowed), "the maths knows torch and the core's values"
            above = ("core.rounds", "core.workspace", "core.encoders", "core.features", "core.data", "core.images")
            assert not starts(names, *above)
    if parts[0] == "pages":
        asked = starts(names, "sqlalchemy", "db.models") - starts(names, "sqlalchemy.exc")
        assert not asked, "pages ask the repository, and may only catch the database's errors"


def test_the_rules_see_an_import_inside_a_function(tmp_path):
    sample = tmp_path / "sample.py"
    sample.write_text("def f():\n    import streamlit.components\n")
    assert starts(imported(sample), "streamlit")
