"""What code a result depends on: one hash of the kit, and the source of whatever is not the kit's.

The kit counts as a whole (`KIT`): every file of the rooms that compute. What a user or a study brings, a measure or
a registered part, is followed from the function itself: its code as it was loaded, its defaults, the values it
closes over, the globals and imports that it names; and so on for what these are, up to the kit and to installed
packages. The text of every module on the way counts as a whole. So an edited cell, a changed constant and an edited
helper file all change the hash, also where a file was edited after it was imported.
"""

from __future__ import annotations

import contextlib
import copyreg
import dis
import functools
import hashlib
import sys
import types
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec, resolve_name
from pathlib import Path
from typing import Any

from attnlib.utils.errors import AttnlibError

HOME = Path(__file__).resolve().parents[1]
ROOMS = "models training engine hf rankings erasure measures stats data".split()
BESIDE = ("stats/inference.py", "data/readers/", "data/corpora.py", "data/checks.py")
"""What comes after a measurement, and what reads corpora: the fingerprint of the data covers the result of that."""
PLAIN = (type(None), bool, int, float, complex, str, bytes, type(...))
WRAPPERS = (types.MethodType, types.CellType, property, staticmethod, classmethod, functools.cached_property)
WRAPPERS += (type(functools.cache(len)), contextlib._GeneratorContextManager)
INSIDE = "__func__ __self__ __wrapped__ cell_contents fget fset func args kwds".split()
"""Attributes by which these hold what they wrap."""


class NoSource(AttnlibError):
    """The code of something cannot be read, so that a change of it would go unnoticed."""


@dataclass(frozen=True)
class Source:
    """The hash of what something does, the texts in it (some name parts), and the modules that it is made of."""

    digest: str
    texts: frozenset[str] = frozenset()
    modules: frozenset[str] = frozenset({"__main__"})

    @property
    def is_kit(self) -> bool:
        """Whether all of it is the kit's, and so covered by `KIT`."""
        return all(is_kit(module) or _top(module) in sys.stdlib_module_names for module in self.modules)

    @property
    def own_modules(self) -> list[str]:
        """The modules that no installation brings, a notebook's own aside."""
        return sorted(m for m in self.modules - {"__main__"} if not _settled(m))


def source_of(part: Any) -> Source:
    """The source of a function, a class, or an object that holds some; `NoSource` where it cannot be had."""
    walk = _Walk(part)
    try:
        token = walk.token(part)
    except NoSource:
        raise
    except Exception as error:
        raise NoSource(f"it cannot be looked into ({error})") from None
    walk.modules.add(getattr(part, "__module__", None) or "__main__")
    source = Source(token, frozenset(walk.texts), frozenset(walk.modules))
    return Source(_digest(token, *map(text_of, source.own_modules)), source.texts, source.modules)


def is_kit(module: str) -> bool:
    """Whether a module is the kit's own. A study counts by its source, wherever it lies."""
    return _top(module) == "attnlib" and not module.startswith("attnlib.studies.")


def text_of(module: str) -> str:
    """The text of a module's file, "" without one."""
    file = Path(getattr(_spec(module), "origin", None) or "")
    return file.read_text("utf-8") if file.suffix == ".py" and file.is_file() else ""


def _top(module: str) -> str:
    return module.partition(".")[0]


def _digest(*parts: str) -> str:
    encoded = [part.encode("utf-8", "surrogatepass") for part in parts]
    return hashlib.sha256(b"".join(b"%d %b\n" % (len(data), data) for data in encoded)).hexdigest()


def _kit() -> str:
    files = [HOME / "config.py", HOME / "quirks.py", HOME / "utils" / "device.py"]
    files += [file for room in ROOMS for file in sorted((HOME / room).rglob("*.py"))]
    named = [(file.relative_to(HOME).as_posix(), file) for file in files]
    return _digest(*(f"{n} {file.read_text('utf-8')}" for n, file in named if not n.startswith(BESIDE)))


KIT = _kit()
"""The hash of the kit as it was when this process began: what runs here, though somebody may edit a file since."""


class _Walk:
    """Tokens of values: equal, in every process, for values that do the same."""

    def __init__(self, root: Any) -> None:
        self.root = root
        self.texts: set[str] = set()
        self.modules: set[str] = set()
        self.known: dict[int, tuple[Any, str]] = {}

    def token(self, value: Any) -> str:
        if type(value) in PLAIN:
            if isinstance(value, str):
                self.texts.add(value)
            return f"{type(value).__name__} {value!r}"
        if id(value) not in self.known:
            self.known[id(value)] = value, f"again {type(value).__qualname__}"  # held, so that its id stays its own
            self.known[id(value)] = value, _digest(type(value).__qualname__, *self._parts(value))
        return self.known[id(value)][1]

    def _tokens(self, values: Iterable[Any]) -> list[str]:
        return [self.token(value) for value in values]

    def _parts(self, value: Any) -> list[str]:
        torch = sys.modules.get("torch")
        if type(value) in (list, tuple):
            return self._tokens(value)
        if type(value) in (dict, types.MappingProxyType):
            return self._tokens(part for pair in value.items() for part in pair)
        if type(value) in (set, frozenset):
            return sorted(self._tokens(value))
        if isinstance(value, types.ModuleType):
            return self._module(value)
        if isinstance(value, types.CodeType):
            shape = (value.co_argcount, value.co_posonlyargcount, value.co_kwonlyargcount, value.co_flags)
            names = (value.co_names, value.co_varnames, value.co_freevars, value.co_cellvars)
            return [repr((shape, names)), value.co_code.hex(), *self._tokens(value.co_consts)]
        if isinstance(value, types.FunctionType | type):
            self.modules.add(value.__module__)
            if is_kit(value.__module__) or (value is not self.root and _settled(value.__module__)):
                return [value.__module__, value.__qualname__, *self._tokens(getattr(value, "__closure__", 0) or ())]
            return self._class(value) if isinstance(value, type) else self._function(value)
        if isinstance(value, WRAPPERS):
            return self._tokens(getattr(value, name, None) for name in INSIDE)
        if torch is not None and isinstance(value, torch.Tensor):
            data = value.detach().cpu().flatten().view(torch.uint8).numpy().tobytes()
            return [f"{value.dtype} {tuple(value.shape)}", hashlib.sha256(data).hexdigest()]
        return self._reduced(value)

    def _function(self, function: types.FunctionType) -> list[str]:
        code = function.__code__
        held = (function.__defaults__, function.__kwdefaults__, function.__closure__, function.__dict__)
        return self._tokens((code, *held, dict(_globals(code, function.__globals__))))

    def _module(self, module: types.ModuleType) -> list[str]:
        """A module that is named in code counts with all that it defines."""
        name, kinds = module.__name__, (*PLAIN, types.FunctionType, type, types.ModuleType)
        self.modules.add(name)
        defined = {} if _settled(name) else vars(module)
        own = [(n, v) for n, v in defined.items() if not n.startswith("__") and isinstance(v, kinds)]
        return [name, *self._tokens(part for pair in own for part in pair)]

    def _class(self, cls: type) -> list[str]:
        """Its bases and what it defines, without what Python notes down about it between underscores."""
        noted = {n for n, v in vars(cls).items() if n.startswith("__") and not isinstance(v, types.FunctionType)}
        own = {name: value for name, value in vars(cls).items() if name not in {"_abc_impl", *noted}}
        return self._tokens((cls.__bases__, own))

    def _reduced(self, value: Any) -> list[str]:
        """Any other object, taken apart as pickle would."""
        taken = copyreg.dispatch_table.get(type(value), lambda held: held.__reduce_ex__(4))(value)
        if not isinstance(taken, str):
            return [self.token([*part] if isinstance(part, Iterator) else part) for part in taken]
        module = getattr(value, "__module__", None) or type(value).__module__
        if value is self.root or not _settled(module):
            raise NoSource(f"{taken} is not written in Python")
        self.modules.add(module)
        return [module, taken]


@functools.lru_cache(maxsize=4096)
def _settled(module: str) -> bool:
    """Whether what is in a module goes by its name: the kit's, Python's and installed packages' does. A notebook's
    and a study's does not, wherever these are installed."""
    if is_kit(module) or _top(module) in sys.stdlib_module_names:
        return True
    if _top(module) == "attnlib" or (spec := _spec(_top(module))) is None:
        return False
    places = [spec.origin or "", *(spec.submodule_search_locations or ())]
    return any({"site-packages", "dist-packages"} & {*Path(place).parts} for place in places)


def _spec(module: str) -> Any:
    try:
        return None if module == "__main__" else find_spec(module)
    except (ImportError, ValueError):  # made by hand
        return None


def _globals(code: types.CodeType, scope: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The globals that a function reads, and the modules that it imports in its body."""
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from _globals(const, scope)
    steps = [step for step in dis.get_instructions(code) if step.opname != "EXTENDED_ARG"]
    for k, step in enumerate(steps):
        if ("GLOBAL" in step.opname or step.opname == "LOAD_NAME") and step.argval in scope:
            yield step.argval, scope[step.argval]
        if step.opname == "IMPORT_NAME":
            name = resolve_name("." * steps[k - 2].argval + step.argval, scope.get("__package__") or "")
            for inside in ("", *(f".{part}" for part in steps[k - 1].argval or ())):
                with contextlib.suppress(ImportError):  # a name of the module, or nothing
                    yield f"import {name}{inside}", name if _settled(name) else import_module(name + inside)
