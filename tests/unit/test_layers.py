"""Imports point only downward: the layers of the design, held by the import statements of every module.

A new module or package must be given its place in `LAYERS` before anything can import it.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = "temporal_adapter"

# From the bottom up. A module imports from lower layers only, and from its own package.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("wire", "maf", "converter", "process", "programs", "connection", "idempotency"),
    (
        "store",
        "engine",
        "failures",
        "values",
        "activity_errors",
        "graph_changes",
        "stream_log",
        "initial_input",
        "drawing",
        "histories",
        "sandbox",
    ),
    (
        "attributes",
        "routing",
        "payload",
        "definitions",
        "nesting",
        "pristine",
        "answers",
        "attendance",
        "calls",
        "turns",
        "migration",
    ),
    ("pool", "maf_checkpoint", "loading", "execution", "deadlines", "search_attribute", "versioning"),
    ("continuation", "host", "checkpoints"),
    ("doors",),
    ("workflow",),
    ("client", "plugin", "recovery", "retention", "replaying"),
    ("inbox",),
    ("testing", "cli", "drop_in"),
    ("__init__",),
)
LAYER_OF = {name: level for level, names in enumerate(LAYERS) for name in names}

# Where a layer's rule says more than "downward".
ONLY: dict[str, set[str]] = {
    "wire": set(),
    "maf": set(),
    "converter": set(),
    "process": set(),
    "programs": set(),
    "sandbox": set(),
    "connection": set(),
    "idempotency": set(),
    "store": {"wire"},
    "engine": {"wire"},
    "attendance": {"engine", "wire"},
    "calls": {"activity_errors", "converter", "wire"},
    "turns": set(),
    "execution": {
        "activity_errors",
        "attendance",
        "calls",
        "turns",
        "converter",
        "engine",
        "graph_changes",
        "stream_log",
        "wire",
    },
    "continuation": {"calls", "converter", "engine", "execution", "wire"},
    "doors": {"activity_errors", "answers", "continuation", "converter", "engine", "wire"},
    "workflow": {"activity_errors", "converter", "doors", "engine", "wire"},
    "answers": {"engine", "wire"},
    "initial_input": {"maf"},
    "stream_log": {"wire"},
    "activity_errors": {"wire"},
    "graph_changes": {"wire"},
    "migration": {"maf", "wire"},
    "recovery": {"continuation", "converter", "engine", "execution", "store", "wire", "workflow"},
    "retention": {"histories", "store", "wire"},
    "histories": {"wire"},
    "replaying": {"histories", "sandbox", "wire", "workflow"},
    "drawing": {"wire"},
    "inbox": {"client", "drawing", "store", "values", "wire"},
}

WITHOUT_MAF = {
    "retention",
    "recovery",
    "replaying",
    "histories",
    "drawing",
    "inbox",
    "activity_errors",
    "graph_changes",
    "answers",
    "attendance",
    "calls",
    "turns",
    "doors",
    "stream_log",
    "process",
    "programs",
    "sandbox",
    "connection",
    "idempotency",
    "wire",
    "store",
    "engine",
    "execution",
    "continuation",
    "workflow",
    "converter",
    "__init__",
}
WITHOUT_TEMPORAL = {
    "wire",
    "engine",
    "maf",
    "values",
    "failures",
    "attributes",
    "routing",
    "pool",
    "nesting",
    "pristine",
    "graph_changes",
    "migration",
    "answers",
    "idempotency",
    "initial_input",
    "drawing",
    "__init__",
}


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted((ROOT / PACKAGE).rglob("*.py"))}


def unit(module: str) -> str:
    """Return the package or module directly below the top that a module belongs to."""
    return [*module.split("."), "__init__"][1]


def imports(module: str) -> Iterator[str]:
    """Yield every module that a module imports, in functions too; for `from x import y`, `x.y` if that is a module."""
    path = MODULES[module]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _base(module, path, node)
            for alias in node.names:
                full = f"{base}.{alias.name}"
                yield full if full in MODULES else base


def _base(module: str, path: Path, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    package = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
    package = package[: len(package) - node.level + 1]
    return ".".join([*package, *([node.module] if node.module else [])])


def top(imported: str) -> str:
    return imported.split(".")[0]


def inner(module: str) -> set[str]:
    """Return the other units of the package that a module imports from."""
    found = {unit(one) for one in imports(module) if top(one) == PACKAGE}
    return found - {unit(module)}


@pytest.mark.parametrize("module", MODULES)
def test_module_has_a_layer(module: str) -> None:
    assert unit(module) in LAYER_OF, f"give {unit(module)!r} its place in LAYERS"


@pytest.mark.parametrize("module", MODULES)
def test_module_imports_only_from_lower_layers(module: str) -> None:
    level = LAYER_OF[unit(module)]
    assert {one for one in inner(module) if LAYER_OF[one] >= level} == set()


@pytest.mark.parametrize("name", ONLY)
def test_narrow_layer_imports_only_what_it_may(name: str) -> None:
    found = {one for module in MODULES if unit(module) == name for one in inner(module)}
    assert found <= ONLY[name]


@pytest.mark.parametrize("module", MODULES)
def test_module_keeps_away_from_what_its_layer_must_not_know(module: str) -> None:
    outside = {top(one) for one in imports(module)}
    if unit(module) in WITHOUT_MAF and unit(module) != "__init__":
        assert "agent_framework" not in outside
    if unit(module) in WITHOUT_TEMPORAL:
        assert "temporalio" not in outside
    assert outside.isdisjoint({"workers", "tests", "bench"})


def test_store_knows_of_temporal_no_more_than_the_payload_codec() -> None:
    modules = [module for module in MODULES if unit(module) == "store"]
    found = {one for module in modules for one in imports(module) if top(one) == "temporalio"}
    assert found == {"temporalio.api.common.v1", "temporalio.converter"}


@pytest.mark.parametrize("module", MODULES)
def test_only_maf_imports_private_names_of_maf(module: str) -> None:
    private = [one for one in imports(module) if one.startswith("agent_framework._")]
    assert bool(private) == (module == f"{PACKAGE}.maf")


@pytest.mark.parametrize("module", [one for one in MODULES if unit(one) == "engine"])
def test_engine_uses_nothing_that_could_differ_between_replays(module: str) -> None:
    outside = {top(one) for one in imports(module)} - {PACKAGE}
    assert outside <= {
        "__future__",
        "bisect",
        "collections",
        "dataclasses",
        "datetime",
        "enum",
        "heapq",
        "itertools",
        "typing",
    }


def test_no_import_leads_back_to_where_it_came_from() -> None:
    edges = {module: {one for one in imports(module) if one in MODULES and one != module} for module in MODULES}
    for module in edges:  # importing a module runs its package's __init__ first; between siblings only cycles matter
        seen: set[str] = set()
        waiting = [one for one in edges[module] if one.count(".") > 1 or unit(one) != unit(module)]
        while waiting:
            one = waiting.pop()
            assert one != module, f"{module} imports itself in the end"
            if one not in seen:
                seen.add(one)
                waiting.extend(edges[one])


BLOCKED = """
import sys

class NoMaf:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "agent_framework":
            raise ImportError("workflow code and replayers must not load agent_framework")

sys.meta_path.insert(0, NoMaf())
{body}
assert not [name for name in sys.modules if name.split(".")[0] == "agent_framework"]
"""


@pytest.mark.parametrize(
    "body",
    [
        "import temporal_adapter",
        "import temporal_adapter.engine",
        "import temporal_adapter.wire",
        "import temporal_adapter.store",
        "import temporal_adapter.converter",
        "import temporal_adapter.workflow as w; w.workflow_type('x')",
        "from temporal_adapter import workflow_type; workflow_type('expense-approval')",
    ],
)
def test_workflow_code_loads_without_maf(body: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED.format(body=body)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", ["engine", "wire"])
def test_pure_layer_loads_without_temporalio(name: str) -> None:
    body = f"import temporal_adapter.{name}; assert 'temporalio' not in sys.modules"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; {body}"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
