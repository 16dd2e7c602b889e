"""Which code a result depends on, as one hash.

A stored result is only as good as the code that made it. Version numbers kept by hand are forgotten, and a hash of
the whole package would discard everything when a plot changes its colour. So imports are followed from the function
that makes the result:

- of the function's own module, the function and the names it uses there, and whatever importing the module runs (a
  decorator may register what it decorates); a study's figures do not matter to its measures;
- of every other module, all of it, and what that imports in turn;
- comments, docstrings, formatting and imports for type checkers never count, nor do the rooms of `NEUTRAL`.

So an edit in `erasure/` leaves trained models alone, and one in `models/` reaches everything.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.util
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from attnlib.store.specs import split
from attnlib.utils.errors import ConfigError, unknown

KIT = "attnlib"
NEUTRAL = tuple(
    f"{KIT}.{name}"
    for name in "utils store viz reports cli stats.inference data.readers data.corpora data.checks".split()
)
"""What cannot change a measurement (intervals come after it), and what reads corpora: the fingerprint of the data
covers the result of that."""
COUNTED = (f"{KIT}.utils.device",)
"""Modules of a neutral room that count nevertheless: seeds and precision."""
ROOMS = ("models", "training", "engine", "importance", "erasure", "measures", "stats")
"""What a task that says `import attnlib as al` may use."""


@lru_cache(maxsize=256)
def code_of(task: str) -> dict[str, str]:
    """Module -> hash of its code, for everything in the kit and in its own package that the task depends on."""
    module, name = split(task)
    tree = _parse(module)
    if tree is None:
        raise ConfigError(f"Task {task!r}: there is no module {module!r} whose source can be read.")
    statements = _reachable(tree, module, name)
    found = {f"{module}:{name}": _digest(statements)}
    queue = list(_imports(statements, module))
    while queue:
        used = queue.pop()
        if used in found or used == module or _neutral(used) or (whole := _whole(used)) is None:
            continue
        found[used], imported = whole
        queue.extend(imported)
    return dict(sorted(found.items()))


def code_hash(task: str) -> str:
    """One hash over `code_of(task)`."""
    lines = "\n".join(f"{k} {v}" for k, v in code_of(task).items())
    return hashlib.sha256(lines.encode()).hexdigest()


@lru_cache(maxsize=1024)
def _whole(module: str) -> tuple[str, tuple[str, ...]] | None:
    """Hash and imports of a module that counts as a whole; None without a source. Tasks share most of them."""
    tree = _parse(module)
    return None if tree is None else (_digest(tree.body), tuple(dict.fromkeys(_imports(tree.body, module))))


@lru_cache(maxsize=1024)
def _neutral(module: str) -> bool:
    """Whether a module does not count. The `__init__` of a study's package names its tables and claims too."""
    if module in (KIT, f"{KIT}.data"):  # they only pass names on
        return True
    if module.startswith(f"{KIT}.studies") and _file(module) is not None and _file(module).name == "__init__.py":
        return True
    return module not in COUNTED and any(module == room or module.startswith(f"{room}.") for room in NEUTRAL)


def _reachable(tree: ast.Module, module: str, name: str) -> list[ast.stmt]:
    """The top-level statements that the function `name` depends on, in the order of the file.

    Undecorated definitions, assignments to names and imports count where they are used, anything else always: a
    decorator, `TABLE["a"] = f`, a call or a loop may change what the function does without being named in it.
    """
    bound: dict[str, list[ast.stmt]] = {}
    queue: list[ast.stmt] = []
    for statement in tree.body:
        names = list(_binds(statement))
        for target in names:
            bound.setdefault(target, []).append(statement)
        if (not names and not _for_type_checkers(statement)) or getattr(statement, "decorator_list", ()):
            queue.append(statement)
    if name not in bound:
        functions = [s.name for s in tree.body if isinstance(s, ast.FunctionDef)]
        raise ConfigError(unknown(f"function of {module}", name, functions))
    queue += bound[name]
    kept: set[ast.stmt] = set()
    while queue:
        statement = queue.pop()
        if statement not in kept:
            kept.add(statement)
            used = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
            queue.extend(s for n in used for s in bound.get(n, ()))
    return [statement for statement in tree.body if statement in kept]


def _binds(statement: ast.stmt) -> Iterator[str]:
    """Names that a definition, an import or an assignment to names alone gives a value to."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield statement.name
    elif isinstance(statement, ast.Import | ast.ImportFrom):
        for alias in statement.names:
            yield (alias.asname or alias.name).split(".")[0]
    elif isinstance(statement, ast.Assign | ast.AnnAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        nodes = [node for target in targets for node in ast.walk(target)]
        if not any(isinstance(node, ast.Subscript | ast.Attribute) for node in nodes):
            yield from (node.id for node in nodes if isinstance(node, ast.Name))


def _for_type_checkers(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)


def _imports(statements: Iterable[ast.stmt], module: str) -> Iterator[str]:
    """Modules of the kit and of the same package that the statements import, wherever the import occurs."""
    roots = {module.split(".")[0], KIT}
    nodes: list[ast.AST] = list(statements)
    while nodes:
        node = nodes.pop()
        nodes.extend(node.orelse if _for_type_checkers(node) else ast.iter_child_nodes(node))
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(node, module)
            inside = [f"{base}.{alias.name}" for alias in node.names]
            names = [name if _file(name) is not None else base for name in inside]
        else:
            continue
        for name in names:
            if name == KIT:
                yield from _everything()
            elif name.split(".")[0] in roots:
                parts = name.split(".")
                yield from (".".join(parts[:k]) for k in range(1, len(parts) + 1))  # importing a.b runs a too


def _everything() -> Iterator[str]:
    home = Path(__file__).parents[1]
    for room in ROOMS:
        for file in (home / room).rglob("*.py"):
            yield ".".join((KIT, *file.relative_to(home).with_suffix("").parts)).removesuffix(".__init__")


def _absolute(node: ast.ImportFrom, module: str) -> str:
    """The module that `from ..a import b` means."""
    if not node.level:
        return node.module or ""
    file = _file(module)
    package = module if file is not None and file.name == "__init__.py" else module.rpartition(".")[0]
    return importlib.util.resolve_name("." * node.level + (node.module or ""), package)


@lru_cache(maxsize=1024)
def _file(module: str) -> Path | None:
    """The source file of a module, found without importing it (its top-level package aside)."""
    root, *rest = module.split(".")
    spec = importlib.util.find_spec(root) if root else None
    if spec is None:
        return None
    if not rest:
        return Path(spec.origin) if (spec.origin or "").endswith(".py") else None
    for folder in spec.submodule_search_locations or ():  # several for a package without `__init__`
        if (file := _below(folder, rest)) is not None:
            return file
    if module.startswith(f"{KIT}.studies."):  # may be in a folder of the user's
        for folder in importlib.import_module(f"{KIT}.studies").__path__:
            if (file := _below(folder, rest[1:])) is not None:
                return file
    return None


def _below(folder: str, parts: list[str]) -> Path | None:
    """The file of a module in a folder: `parts[-1].py`, or the `__init__` of a package."""
    path = Path(folder).joinpath(*parts)
    return next(
        (file for file in (path.with_name(path.name + ".py"), path / "__init__.py") if file.is_file()), None
    )


@lru_cache(maxsize=1024)
def _parse(module: str) -> ast.Module | None:
    file = _file(module)
    if file is None:
        return None
    text = _OWN.get(file.resolve())
    return ast.parse(file.read_text("utf-8") if text is None else text)


def _digest(statements: list[ast.stmt]) -> str:
    return hashlib.sha256(_canonical(statements).encode()).hexdigest()[:16]


def _canonical(node: object) -> str:
    """The syntax tree as text without docstrings, the same for every version of Python that reads the same code."""
    if isinstance(node, ast.AST):
        fields = []
        for name, value in ast.iter_fields(node):
            if value is not None and value != [] and name not in ("type_comment", "ctx"):
                fields.append(f"{name}={_canonical(value)}")
        return f"{type(node).__name__}({','.join(fields)})"
    if isinstance(node, list):
        return f"[{','.join(_canonical(item) for item in node if not _is_text(item))}]"
    return repr(node)


def _is_text(node: object) -> bool:
    """A docstring, or the text under an attribute."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


_OWN = {file: file.read_text("utf-8") for file in Path(__file__).resolve().parents[1].rglob("*.py")}
"""attnlib as it was when this process began. That is what runs here, so that is what names its results, even where
somebody edits a file before it is first looked at."""
