"""The user's parts on a worker: they travel with a job, and a result that rests on others is refused."""

from __future__ import annotations

import pickle
import platform
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module

import cloudpickle

from attnlib.store.keys import DATA, theirs
from attnlib.store.sources import KIT, NoSource, Source, own_modules, source_of, text_of
from attnlib.store.specs import Run, resolve
from attnlib.utils.errors import ConfigError
from attnlib.utils.registry import Name, Registry, lent, watched


class WorkerDiffers(ConfigError):
    """The worker would compute something other than the key of the run says."""


@dataclass(frozen=True)
class Code:
    """The code that a job is computed with, as its keys say.

    named    the user's parts that count in them
    tasks    task -> hash of its source, which must be the worker's too, as must `kit`
    parts    the user's parts to hold meanwhile, pickled with their code; b"" in the driver's own process
    modules  module of those parts -> its text, which must be the worker's where it has that module
    """

    named: frozenset[Name]
    tasks: Mapping[str, str]
    parts: bytes = b""
    modules: Mapping[str, str] = field(default_factory=dict)
    kit: str = KIT

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the parts that were sent along, where this worker's code is the driver's."""
        place = platform.node()
        if self.kit != KIT:
            raise WorkerDiffers(f"attnlib on {place} differs from the driver's. Install the same, and restart it.")
        if wrong := [module for module, text in self.modules.items() if text_of(module) not in ("", text)]:
            raise WorkerDiffers(f"{wrong[0]} on {place} differs from the driver's. Bring the driver's there.")
        try:
            homes, parts = pickle.loads(self.parts) if self.parts else ([], pickle.dumps({}))
            for home in homes:  # registries, with the kit's own parts in them
                import_module(home)
            parts = pickle.loads(parts)
        except Exception as error:
            raise WorkerDiffers(f"{_said(self.named)} cannot be loaded on {place}: {error}.") from error
        with lent(parts):
            yield

    @contextmanager
    def accounted(self, run: Run) -> Iterator[None]:
        """Refuse another source of the function, and a result that rests on parts which its key does not count."""
        if (there := self.tasks.get(run.task)) and source_of(resolve(run.task)).digest != there:
            raise WorkerDiffers(
                f"The code of {run.task} on {platform.node()} differs from the driver's. Bring the same files and "
                "the same Python there, and restart the workers."
            )
        with watched() as asked:
            yield
        for kind, name in sorted(asked - self.named):
            if kind != DATA and theirs(Registry.kinds[kind][name]) is not None:
                raise ConfigError(
                    f"{run.task} used the {kind} {name!r}, which is not the kit's and which the run does not name, "
                    "so that its key would say nothing of it. Name it in the run's params."
                )


def packed(parts: Mapping[Name, Source | NoSource | None]) -> tuple[bytes, dict[str, str]]:
    """The user's parts with their code, for workers that have never seen them; and the texts of their modules."""
    modules = {m for source in parts.values() if isinstance(source, Source) for m in own_modules(source)}
    held = {(kind, name): Registry.kinds[kind][name] for kind, name in parts}
    homes = sorted({Registry.kinds[kind].home for kind, _ in parts})
    for module in modules:
        cloudpickle.register_pickle_by_value(sys.modules[module])
    try:
        data = cloudpickle.dumps((homes, cloudpickle.dumps(held))) if held else b""
        return data, {module: text_of(module) for module in modules}
    except Exception as error:
        raise ConfigError(
            f"{_said(parts)} cannot be sent to workers: {error}. Compute it with executor='serial'."
        ) from None
    finally:
        for module in modules:
            cloudpickle.unregister_pickle_by_value(sys.modules[module])


def _said(parts: Iterable[Name]) -> str:
    return ", ".join(f"The {kind} {name!r}" for kind, name in sorted(parts))
