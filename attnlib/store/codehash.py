"""Which code a result depends on, as one hash.

A stored result is only as good as the code that made it. Version numbers kept by hand are forgotten, and a hash
of the whole package throws everything away when a plot changes its colour. So the code is followed from the
function that makes the result:

- in the function's own module, the function and every name it uses there (a study's figures do not matter to its
  measures), with what importing the module registers or runs;
- of every other module it imports, the whole module, and what that imports in turn;
- comments, doc-strings, formatting and type-checking imports never count.

Reading corpora is left out: the fingerprint of the data says what came of it.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.util
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from attnlib.utils.errors import ConfigError, unknown

IGNORED = frozenset(
    "attnlib attnlib.studies attnlib.utils.errors attnlib.utils.registry attnlib.utils.paths "
    "attnlib.utils.progress "
    "attnlib.store.codehash attnlib.store.specs attnlib.store.entries attnlib.store.tasks attnlib.store.processes "
    "attnlib.store.executors attnlib.store.grid attnlib.store.scheduler attnlib.store.forecast "
    "attnlib.data attnlib.data.corpora attnlib.data.checks attnlib.data.readers.archives "
    "attnlib.data.readers.downloads".split()
)
"""Modules that cannot change a number (names, paths, bars, the machinery that runs runs) or that read corpora.

`attnlib.data` means its `__init__` alone; the modules it passes names on from are followed name by name, so that a
new reader of corpora does not make every trained model stale.
"""


def split(task: str) -> tuple[str, str]:
    """`module:function` in two."""
    module, colon, name = task.partition(":")
    if not (colon and module and name.isidentifier()):
        raise ConfigError(
            f"A task is named 'package.module:function', such as 'attnlib.studies.tasc.grid:flips'; got {task!r}."
        )
    return module, name


@lru_cache(maxsize=256)
def code_of(task: str) -> dict[str, str]:
    """Module -> hash of its code, for everything the task's function depends on in its own package.

    The task's own module is hashed as far as the function reaches in it.
    """
    module, name = split(task)
    source = _parse(module)
    if source is None:
        raise ConfigError(f"Task {task!r}: there is no module {module!r} whose source can be read.")
    statements = _reachable(source, module, name)
    parts = {f"{module}:{name}": _digest(statements)}
    queue = list(_imports(statements, module))
    while queue:
        used = queue.pop()
        if used in parts or used == module:
            continue
        tree = _parse(used)
        if tree is None:
            continue
        if used not in IGNORED:
            parts[used] = _digest(tree.body)
            queue.extend(_imports(tree.body, used))
    return dict(sorted(parts.items()))


def code_hash(task: str) -> str:
    """One hash over `code_of(task)`."""
    lines = "\n".join(f"{k} {v}" for k, v in code_of(task).items())
    return hashlib.sha256(lines.encode()).hexdigest()


def _reachable(tree: ast.Module, module: str, name: str) -> list[ast.stmt]:
    """The top-level statements that the function `name` uses, directly or not, in the order of the file."""
    bound: dict[str, list[int]] = {}
    for i, statement in enumerate(tree.body):
        for target in _binds(statement):
            bound.setdefault(target, []).append(i)
    if name not in bound:
        functions = [s.name for s in tree.body if isinstance(s, ast.FunctionDef)]
        raise ConfigError(unknown(f"function of {module}", name, functions))
    own = set(bound) - _foreign(tree, ("attnlib", module.split(".")[0]))
    kept = {i for i, statement in enumerate(tree.body) if _acts(statement, own)}
    names: set[str] = set()
    queue = [name, *(n for i in kept for n in _uses(tree.body[i]))]
    while queue:
        current = queue.pop()
        if current in names or current not in bound:
            continue
        names.add(current)
        kept.update(bound[current])
        queue.extend(n for i in bound[current] for n in _uses(tree.body[i]))
    return [tree.body[i] for i in sorted(kept)]


def _binds(statement: ast.stmt) -> Iterator[str]:
    """Names a top-level statement gives a value to."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield statement.name
    elif isinstance(statement, ast.Import | ast.ImportFrom):
        for alias in statement.names:
            yield (alias.asname or alias.name).split(".")[0]
    else:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id


def _uses(statement: ast.stmt) -> Iterator[str]:
    return (node.id for node in ast.walk(statement) if isinstance(node, ast.Name))


def _acts(statement: ast.stmt, own: set[str]) -> bool:
    """Whether importing the module does something here that a function may depend on without naming it.

    A decorator of the package's own may register what it decorates; `TABLE["a"] = f`, a call, a loop may fill a
    table. Plain definitions, assignments to names, imports, doc-strings and foreign decorators do no such thing.
    """
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        used = {n.id for d in statement.decorator_list for n in ast.walk(d) if isinstance(n, ast.Name)}
        return bool(used & own)
    if isinstance(statement, ast.Assign | ast.AnnAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        return not all(isinstance(t, ast.Name | ast.Tuple) for t in targets)
    if isinstance(statement, ast.If) and "TYPE_CHECKING" in ast.dump(statement.test):
        return False
    return not (isinstance(statement, ast.Import | ast.ImportFrom) or _is_text(statement))


def _foreign(tree: ast.Module, packages: tuple[str, ...]) -> set[str]:
    """Names imported from other packages than these, such as `dataclass`."""
    found = set()
    for node in tree.body:
        if isinstance(node, ast.Import):
            found |= {a.asname or a.name for a in node.names if a.name.split(".")[0] not in packages}
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module.split(".")[0] not in packages:
            found |= {a.asname or a.name for a in node.names}
    return found


def _imports(statements: list[ast.stmt], module: str) -> Iterator[str]:
    """Modules of the same package that the statements import, wherever in them the import stands."""
    root = module.split(".")[0]
    roots = {root, "attnlib"}
    for node in _walk(statements):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] in roots:
                    yield from _with_parents(alias.name)
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(node, module)
            if base.split(".")[0] in roots:
                yield from _with_parents(base)
                for alias in node.names:
                    yield from _named(base, alias.name)


def _with_parents(module: str) -> Iterator[str]:
    """Importing `a.b.c` runs `a` and `a.b` too."""
    parts = module.split(".")
    for k in range(1, len(parts) + 1):
        yield ".".join(parts[:k])


def _named(base: str, name: str) -> Iterator[str]:
    """Where `from base import name` leads: to a submodule, or past a package that only passes names on."""
    if _file(f"{base}.{name}") is not None:
        yield f"{base}.{name}"
    elif base == "attnlib":
        import attnlib

        if name in attnlib._PUBLIC:
            yield from _with_parents(attnlib._PUBLIC[name])
            yield from _named(attnlib._PUBLIC[name], name)
    elif base == "attnlib.data":
        home = getattr(getattr(importlib.import_module(base), name, None), "__module__", None)
        if home is not None:
            yield from _with_parents(home)


def _absolute(node: ast.ImportFrom, module: str) -> str:
    if not node.level:
        return node.module or ""
    file = _file(module)
    package = file is not None and file.name == "__init__.py"
    parents = module.split(".")
    parents = parents[: len(parents) - node.level + package]
    return ".".join([*parents, *(node.module.split(".") if node.module else [])])


def _walk(statements: list[ast.stmt]) -> Iterator[ast.AST]:
    """Every node below the statements, but not what is imported for type checkers alone."""
    queue: list[ast.AST] = list(statements)
    while queue:
        node = queue.pop()
        yield node
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            queue.extend(node.orelse)
        else:
            queue.extend(ast.iter_child_nodes(node))


@lru_cache(maxsize=1024)
def _file(module: str) -> Path | None:
    """The source file of a module, found without importing it (its top-level package aside)."""
    root, *rest = module.split(".")
    spec = importlib.util.find_spec(root)
    if spec is None:
        return None
    if not rest:
        return Path(spec.origin) if (spec.origin or "").endswith(".py") else None
    for folder in spec.submodule_search_locations or ():  # several for a package without `__init__`
        path = Path(folder).joinpath(*rest)
        for file in (path.with_name(path.name + ".py"), path / "__init__.py"):
            if file.is_file():
                return file
    return None


@lru_cache(maxsize=1024)
def _parse(module: str) -> ast.Module | None:
    file = _file(module)
    if file is None:
        return None
    text = _OWN.get(file.resolve())
    return ast.parse(file.read_text("utf-8") if text is None else text)


def _digest(statements: list[ast.stmt]) -> str:
    text = "".join(_canonical(s) for s in statements if not _is_text(s))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _canonical(node: object) -> str:
    """The syntax tree as text, the same for every version of Python that reads the same code."""
    if isinstance(node, ast.AST):
        fields = []
        for name, value in ast.iter_fields(node):
            if name == "body" and isinstance(value, list):
                value = [v for v in value if not _is_text(v)]
            if value is not None and value != [] and name not in ("type_comment", "ctx"):
                fields.append(f"{name}={_canonical(value)}")
        return f"{type(node).__name__}({','.join(fields)})"
    if isinstance(node, list):
        return f"[{','.join(map(_canonical, node))}]"
    return repr(node)


def _is_text(node: object) -> bool:
    """A doc-string, or the text under an attribute."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


_OWN = {file: file.read_text("utf-8") for file in Path(__file__).resolve().parent.parent.rglob("*.py")}
"""attnlib as it was when this process began. That is what runs here, so that is what names its results, even where
somebody edits a file before it is first looked at."""
