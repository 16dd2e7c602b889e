"""What a study found: tidy frames, and which trainings may decide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from attnlib.utils.errors import unknown
from attnlib.utils.text import plural

if TYPE_CHECKING:
    import pandas as pd

    from attnlib.store.grid import GridResult
    from attnlib.studies.params import StudyParams


class Results:
    """Frames by name, also as attributes: `results.labels`, `results.frames["labels"]`.

    grid    what was computed, what came from the store, what failed
    model   columns that tell models apart, without the training
    judged  frames of which only the trainings that learned something may decide; they need `labels`
    """

    def __init__(
        self,
        params: StudyParams,
        grid: GridResult,
        frames: Mapping[str, pd.DataFrame],
        model: Sequence[str] = ("dataset", "encoder"),
        judged: Sequence[str] = (),
    ) -> None:
        self.params = params
        self.grid = grid
        self.frames = dict(frames)
        self.model = tuple(model)
        self.judged = tuple(judged)

    def __getattr__(self, name: str) -> pd.DataFrame:
        frames = self.__dict__.get("frames", {})
        if name.startswith("_") or name not in frames:
            raise AttributeError(unknown("frame", name, frames))
        return frames[name]

    def replace(self, **frames: pd.DataFrame) -> Any:
        """The same with other frames."""
        return type(self)(self.params, self.grid, {**self.frames, **frames}, self.model, self.judged)

    @cached_property
    def idle(self) -> pd.DataFrame:
        """The trainings that learned nothing (`studies.learned`), one row each."""
        import pandas as pd

        from attnlib.studies.learned import idle

        return idle(self.labels, [*self.model, "seed"]) if self.judged else pd.DataFrame()

    @cached_property
    def learned(self) -> Any:
        """The results of the trainings that learned something: what claims rest on."""
        from attnlib.studies.learned import without

        if not self.judged or self.idle.empty:
            return self
        return self.replace(**{name: without(self.frames[name], self.idle) for name in self.judged})


def missing(grid: GridResult) -> list[str]:
    """What failed, one sentence per cause: the first run, how many more, and why."""
    said = []
    for told, own in grid.failures.groupby(["error", "message"], sort=False) if len(grid.failures) else ():
        more = f" and {plural(len(own) - 1, 'more run')}" if len(own) > 1 else ""
        said.append(f"**Missing:** {own['run'].iloc[0]}{more}: {': '.join(told)}")
    return said
