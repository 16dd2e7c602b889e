"""What code a result depends on: one hash of the kit, and the source of whatever is not the kit's.

The kit counts as a whole (`KIT`): every file of the rooms that compute. What a user or a study brings, a measure or
a registered part, is followed from the function itself: its code as it was loaded, its defaults, the values it
closes over, the globals and imports it names and the text of its module; and the same for every function, class and
value reached in this way, up to the kit and to installed packages. So an edited cell, a changed constant and an
edited helper file all change the hash, also where a file was edited after it was imported.
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
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, resolve_name
from pathlib import Path
from typing import Any, TypeVar

from attnlib.utils.errors import AttnlibError

HOME = Path(__file__).resolve().parents[1]
ROOMS = "models training engine hf rankings erasure measures stats data".split()
BESIDE = ("stats/inference.py", "data/readers/", "data/corpora.py", "data/checks.py")
"""What comes after a measurement, and what reads corpora: the fingerprint of the data covers the result of that."""
PLAIN = (type(None), bool, int, float, complex, str, bytes, type(...), type(NotImplemented))
WRAPPERS: dict[type, tuple[str, ...]] = {
    types.MethodType: ("__func__", "__self__"),
    types.CellType: ("cell_contents",),
    property: ("fget", "fset", "fdel"),
    functools.partial: ("func", "args", "keywords"),
    functools.cached_property: ("func",),
    contextlib._GeneratorContextManager: ("func", "args", "kwds"),
    **dict.fromkeys((staticmethod, classmethod, type(functools.cache(len))), ("__wrapped__",)),
}
SILENT = (types.MemberDescriptorType, types.GetSetDescriptorType)
FORGOTTEN = set("__dict__ __weakref__ __doc__ __module__ __abstractmethods__ _abc_impl __slotnames__".split())
FORGOTTEN |= set("__dataclass_fields__ __dataclass_params__ __firstlineno__ __static_attributes__".split())
FORGOTTEN |= set("__pydantic_core_schema__ __pydantic_validator__ __pydantic_serializer__".split())
"""Attributes of a class that say nothing of what it does, or say again what its methods do."""


class NoSource(AttnlibError):
    """The code of something cannot be read, so that a change of it would go unnoticed."""


@dataclass(frozen=True)
class Source:
    """The hash of what something does, every text in it (some name parts), and the modules that it is made of."""

    digest: str
    texts: frozenset[str]
    modules: frozenset[str]

    @property
    def is_kit(self) -> bool:
        """Whether all of it is the kit's, and so covered by `KIT`."""
        return all(is_kit(module) or _top(module) in sys.stdlib_module_names for module in self.modules)


def source_of(part: Any) -> Source:
    """The source of a function, a class, or an object that holds some; `NoSource` where it cannot be had."""
    if isinstance(part, types.BuiltinFunctionType):
        raise NoSource(f"{part.__name__} is not written in Python")
    walk = _Walk(part)
    try:
        token = walk.token(part)
    except RecursionError:
        raise NoSource("it is nested too deeply") from None
    source = Source(token, frozenset(walk.texts), frozenset(walk.modules))
    modules = {*own_modules(source), getattr(part, "__module__", None) or "__main__"}
    return replace(source, digest=_digest(token, map(text_of, sorted(modules))))


def is_kit(module: str) -> bool:
    """Whether a module is the kit's own. A study counts by its source, wherever it lies."""
    return _top(module) == "attnlib" and not module.startswith("attnlib.studies.")


def _top(module: str) -> str:
    return module.partition(".")[0]


def _digest(kind: str, parts: Iterable[str]) -> str:
    encoded = [part.encode("utf-8", "surrogatepass") for part in (kind, *parts)]
    return hashlib.sha256(b"".join(b"%d %b\n" % (len(data), data) for data in encoded)).hexdigest()


def _kit() -> str:
    files = [HOME / "config.py", HOME / "quirks.py", HOME / "utils" / "device.py"]
    files += [file for room in ROOMS for file in sorted((HOME / room).rglob("*.py"))]
    named = [(file.relative_to(HOME).as_posix(), file) for file in files]
    return _digest("kit", [f"{n} {file.read_text('utf-8')}" for n, file in named if not n.startswith(BESIDE)])


KIT = _kit()
"""The hash of the kit as it was when this process began: what runs here, though somebody may edit a file since."""


class _Walk:
    """Tokens of values: equal, in every process, for values that do the same."""

    def __init__(self, root: Any) -> None:
        self.root = root
        self.texts: set[str] = set()
        self.modules: set[str] = set()
        self.known: dict[int, tuple[Any, str]] = {}
        self.open: set[int] = set()

    def token(self, value: Any) -> str:
        if type(value) in PLAIN:
            if isinstance(value, str):
                self.texts.add(value)
            return f"{type(value).__name__} {value!r}"
        if id(value) in self.known:
            return self.known[id(value)][1]
        if id(value) in self.open:
            return f"again {type(value).__qualname__}"
        self.open.add(id(value))
        token = _digest(type(value).__qualname__, self._parts(value))
        self.open.discard(id(value))
        self.known[id(value)] = value, token  # held, so that no other object gets its id
        return token

    def _parts(self, value: Any) -> list[str]:
        torch = sys.modules.get("torch")
        if type(value) in (list, tuple):
            return [self.token(part) for part in value]
        if type(value) in (dict, types.MappingProxyType):
            return [self.token(part) for pair in value.items() for part in pair]
        if type(value) in (set, frozenset):
            return sorted(self.token(part) for part in value)
        if isinstance(value, types.ModuleType):
            self.modules.add(value.__name__)
            return [value.__name__]
        if isinstance(value, types.CodeType):
            shape = (value.co_argcount, value.co_posonlyargcount, value.co_kwonlyargcount, value.co_flags)
            names = (value.co_names, value.co_varnames, value.co_freevars, value.co_cellvars)
            return [repr((shape, names)), value.co_code.hex(), *map(self.token, value.co_consts)]
        if isinstance(value, types.FunctionType | type):
            self.modules.add(value.__module__)
            if is_kit(value.__module__) or (value is not self.root and _settled(value.__module__)):
                cells = [self.token(cell) for cell in getattr(value, "__closure__", None) or ()]
                return [value.__module__, value.__qualname__, *cells]
            return self._class(value) if isinstance(value, type) else self._function(value)
        if names := WRAPPERS.get(type(value)):
            return [self.token(_field(value, name)) for name in names]
        if torch is not None and isinstance(value, torch.Tensor):
            data = value.detach().cpu().flatten().view(torch.uint8).numpy().tobytes()
            return [f"{value.dtype} {tuple(value.shape)}", hashlib.sha256(data).hexdigest()]
        return self._reduced(value)

    def _function(self, function: types.FunctionType) -> list[str]:
        code, scope = function.__code__, function.__globals__
        codes = [*_codes(code)]
        attributes = {text for one in codes for text in (*one.co_names, *one.co_consts) if isinstance(text, str)}
        held = (code, function.__defaults__, function.__kwdefaults__, function.__closure__, function.__dict__)
        parts = [self.token(part) for part in held]
        for name, found in dict(used for one in codes for used in _globals(one, scope)).items():
            parts += [name, self._module(found, attributes)]
        return parts

    def _module(self, value: Any, attributes: set[str]) -> str:
        """Anything named in code; of a module, what of it occurs there."""
        if not isinstance(value, types.ModuleType):
            return self.token(value)
        if _settled(value.__name__) or id(value) in self.open:
            return value.__name__
        self.modules.add(value.__name__)
        self.open.add(id(value))
        used = {name: vars(value)[name] for name in sorted(attributes) if name in vars(value)}
        parts = [part for name, found in used.items() for part in (name, self._module(found, attributes))]
        self.open.discard(id(value))
        return _digest(value.__name__, parts)

    def _class(self, cls: type) -> list[str]:
        own = {n: value for n, value in vars(cls).items() if n not in FORGOTTEN and not isinstance(value, SILENT)}
        return [self.token(part) for part in (cls.__bases__, *(part for pair in own.items() for part in pair))]

    def _reduced(self, value: Any) -> list[str]:
        """Any other object, taken apart as pickle would."""
        try:
            special = copyreg.dispatch_table.get(type(value))
            taken = special(value) if special else value.__reduce_ex__(4)
        except Exception as error:
            raise NoSource(f"{type(value).__name__} cannot be looked into ({error})") from None
        if not isinstance(taken, str):
            return [self.token([*part] if isinstance(part, Iterator) else part) for part in taken]
        module = getattr(value, "__module__", None) or type(value).__module__
        if isinstance(value, TypeVar):
            return [taken]
        if value is self.root or not _settled(module):
            raise NoSource(f"{taken} is not written in Python")
        self.modules.add(module)
        return [module, taken]


@functools.lru_cache(maxsize=4096)
def _settled(module: str) -> bool:
    """Whether what is in a module goes by its name: the kit's, Python's and installed packages' does."""
    if is_kit(module) or _top(module) in sys.stdlib_module_names:
        return True
    own = (
        module == "__main__" or _top(module) == "attnlib"
    )  # a notebook's and a study's, wherever these are installed
    if own or (spec := _spec(_top(module))) is None:
        return False
    places = [spec.origin or "", *(spec.submodule_search_locations or ())]
    return any({"site-packages", "dist-packages"} & {*Path(place).parts} for place in places)


def _spec(module: str) -> ModuleSpec | None:
    try:
        return find_spec(module)
    except (ImportError, ValueError):  # made by hand, as `__main__` is
        return None


def text_of(module: str) -> str:
    """The text of a module's file, "" without one: what happens elsewhere in it, in a loop or by a decorator, may
    matter to a function."""
    file = Path("" if module == "__main__" else getattr(_spec(module), "origin", None) or "")
    return file.read_text("utf-8") if file.suffix == ".py" and file.is_file() else ""


def own_modules(source: Source) -> set[str]:
    """The modules of a part that no installation brings, a notebook's own aside."""
    return {name for name in source.modules - {"__main__"} if name in sys.modules and not _settled(name)}


def _field(value: Any, name: str) -> Any:
    try:
        return getattr(value, name, None)
    except ValueError:  # a cell without a value yet
        return None


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from _codes(const)


def _globals(code: types.CodeType, scope: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The globals that a function reads, and the modules that it imports in its body."""
    steps = [step for step in dis.get_instructions(code) if step.opname != "EXTENDED_ARG"]
    for k, step in enumerate(steps):
        if ("GLOBAL" in step.opname or step.opname == "LOAD_NAME") and step.argval in scope:
            yield step.argval, scope[step.argval]
        if step.opname == "IMPORT_NAME":
            name = resolve_name("." * steps[k - 2].argval + step.argval, scope.get("__package__") or "")
            for inside in ("", *(f".{part}" for part in steps[k - 1].argval or ())):
                try:
                    yield name + inside, name if _settled(name) else import_module(name + inside)
                except ImportError:
                    yield name + inside, None  # a name of the module, or nothing
