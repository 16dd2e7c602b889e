"""What code a result depends on: one hash of the kit, and the source of whatever is not the kit's.

The kit counts as a whole (`KIT`): every file of the rooms that compute. What a user or a study brings, a measure or
a registered part, is followed from the function itself: its code as it was loaded, its defaults, the values it
closes over, the globals and imports that it names; and so on for what these are, up to the kit and to installed
packages. The text of every module on the way counts as a whole.
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


def source_of(part: Any) -> Source:
    """The source of a function, a class, or an object that holds some; `NoSource` where it cannot be had."""
    walk = _Walk(part)
    try:
        token = walk.token(part)
    except NoSource:
        raise
    except Exception as error:  # what cannot be pickled, for one
        raise NoSource(f"it cannot be looked into ({error})") from None
    walk.modules.add(getattr(part, "__module__", None) or "__main__")
    own = sorted(module for module in walk.modules - {"__main__"} if not _settled(module))
    return Source(_digest(token, *map(_text, own)), frozenset(walk.texts), frozenset(walk.modules))


def is_kit(module: str) -> bool:
    """Whether a module is the kit's own. A study counts by its source, wherever it lies."""
    return _top(module) == "attnlib" and not module.startswith("attnlib.studies.")


def _top(module: str) -> str:
    return module.partition(".")[0]


def _digest(*parts: str) -> str:
    encoded = [part.encode() for part in parts]
    return hashlib.sha256(b"".join(b"%d %b\n" % (len(data), data) for data in encoded)).hexdigest()


def _kit() -> str:
    files = [HOME / "config.py", HOME / "quirks.py", HOME / "utils" / "device.py"]
    files += [f for room in ROOMS for f in sorted((HOME / room).rglob("*")) if f.suffix in (".py", ".yaml")]
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
        if type(value) is dict:
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
            return self._defined(value)
        if isinstance(value, WRAPPERS):
            return self._tokens(getattr(value, name, None) for name in INSIDE)
        if torch is not None and isinstance(value, torch.Tensor):
            data = value.detach().cpu().flatten().view(torch.uint8).numpy().tobytes()
            return [f"{value.dtype} {tuple(value.shape)}", hashlib.sha256(data).hexdigest()]
        return self._reduced(value)

    def _defined(self, value: types.FunctionType | type) -> list[str]:
        """A function by its code and all that this uses; a class by its bases and what it defines, without what
        Python notes down about it between underscores."""
        self.modules.add(value.__module__)
        if is_kit(value.__module__) or (value is not self.root and _settled(value.__module__)):
            return [value.__module__, value.__qualname__, *self._tokens(getattr(value, "__closure__", 0) or ())]
        if isinstance(value, type):
            noted = {n for n, v in vars(value).items() if n[:2] == "__" and not isinstance(v, types.FunctionType)}
            own = {name: held for name, held in vars(value).items() if name not in {"_abc_impl", *noted}}
            return self._tokens((value.__bases__, own))
        held = (value.__defaults__, value.__kwdefaults__, value.__closure__, value.__dict__)
        return self._tokens((value.__code__, *held, dict(_globals(value.__code__, value.__globals__))))

    def _module(self, module: types.ModuleType) -> list[str]:
        """A module that is named in code counts with all that it defines."""
        name, kinds = module.__name__, (*PLAIN, types.FunctionType, type, types.ModuleType)
        self.modules.add(name)
        defined = {} if _settled(name) else vars(module)
        return [name, self.token({n: v for n, v in defined.items() if n[:2] != "__" and isinstance(v, kinds)})]

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
    """Whether what is in a module goes by its name: the kit's, Python's and installed packages' does; that of a
    notebook or a study does not."""
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


def _text(module: str) -> str:
    """The text of a module's file, "" without one."""
    file = Path(getattr(_spec(module), "origin", None) or "")
    return file.read_text("utf-8") if file.suffix == ".py" and file.is_file() else ""


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
