"""A run of a study: what a notebook calls."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pandas as pd

from attnlib.data.types import Corpus
from attnlib.reports.output import Output
from attnlib.studies.beside import corpus_table, settings
from attnlib.studies.datasets import short
from attnlib.studies.ledger import Judged, tally
from attnlib.studies.params import StudyParams
from attnlib.studies.quantity import Figure, NotTested, Quantity, Table
from attnlib.studies.results import RULE
from attnlib.utils.errors import UnknownName, unknown
from attnlib.utils.extras import needs
from attnlib.utils.text import plural
from attnlib.viz.prose import say

if TYPE_CHECKING:
    from attnlib.studies.study import Study


class Run:
    """The results of a study with these parameters (frames, `grid` with the models), and what is shown."""

    def __init__(self, study: Study, params: StudyParams, results: Any, output: Output) -> None:
        self.study, self.params, self.results, self.output = study, params, results, output
        facts = {"corpora": list(map(short, params.corpora))}
        facts |= {"seeds": list(params.seeds)} if hasattr(params, "seeds") else {}
        output.header(**facts, citation=study.paper.citation, paper_url=study.paper.url)

    def __repr__(self) -> str:
        return "\n".join([f"Run({self.study.name!r})", *self._summary()])

    def _repr_html_(self) -> str:
        return say(*self._summary())._repr_html_()

    def _summary(self) -> list[str]:
        """What was computed, what is missing, and which models learned nothing."""
        grid, told = self.results.grid, [self.results.grid.summary]
        for why, failed in grid.failures.groupby(["error", "message"], sort=False) if len(grid.failures) else ():
            more = f" and {plural(len(failed) - 1, 'more run')}" if len(failed) > 1 else ""
            told.append(f"**Missing:** {failed['run'].iloc[0]}{more}: {': '.join(why)}")
        if len(idle := self.results.idle):
            trained = plural(len(self.results.labels[list(idle)].drop_duplicates()), "model")
            named = [" ".join(str(part) for part in row if part == part) for row in idle.itertuples(index=False)]
            told.append(
                f"**{len(idle)} of {trained} learned nothing** ({RULE}); the claims leave them out: "
                f"{'; '.join(named)}."
            )
        return told

    @property
    def frames(self) -> Mapping[str, pd.DataFrame]:
        """What was measured, one row per measurement."""
        return self.results.frames

    @property
    def corpora(self) -> dict[str, Corpus]:
        """The corpora of the run by name, with their texts."""
        return {short(name): self.results.grid.corpora[self.params.data(name)] for name in self.params.corpora}

    @cached_property
    def shown(self) -> Any:
        """What figures and tables show: the trainings that learned something; if none did, all."""
        learned = self.results.learned
        lost = [n for n in learned.judged if learned.frames[n].empty and len(self.results.frames[n])]
        return self.results if lost else learned

    def quantity(self, name: str) -> Quantity:
        """A number of the study by its name in `numbers`, to ask for its table, mean or share."""
        known = {k: v for k, v in vars(self.study.numbers).items() if isinstance(v, Quantity)}
        if name not in known:
            raise UnknownName(unknown(f"quantity of {self.study.name}", name, known))
        return known[name]

    @cached_property
    def claims(self) -> list[Judged]:
        """The paper's claims, judged by the trainings that learned something."""
        return self.study.ledger(self.results.learned, self.params.setting)

    def short(self) -> None:
        """*In short*: what was asked, what was found, what stays open."""
        names = [claim.id.removeprefix(f"{self.study.name}-") for claim in self.claims]
        by = {int(k) if k.isdigit() else k: claim for k, claim in zip(names, self.claims, strict=True)}
        self.output.short([*self.study.numbers.answer(by, self.shown), tally(self.claims)])

    def ledger(self) -> None:
        """The claims with their verdicts."""
        self.output.claims(self.claims)

    def show(self, *names: str) -> None:
        """Figures and tables by name; a figure comes before the table of the same name."""
        figures, tables = self.study.figures, self.study.tables
        for name in names:
            if name not in figures and name not in tables:
                raise UnknownName(unknown(f"figure or table of {self.study.name}", name, [*figures, *tables]))
            for part in (known[name] for known in (figures, tables) if name in known):
                shown = self._drawn(part) if isinstance(part, Figure) else self._listed(part)
                if part.otherwise and not shown:
                    needs("IPython.display", "notebooks").display(say(part.otherwise))

    def _drawn(self, figure: Figure) -> bool:
        """Show a figure, or several by name; False where there is nothing to draw."""
        try:
            drawn = figure.drawn(self.shown)
        except NotTested:
            return False
        parts = drawn if isinstance(drawn, Mapping) else {"": drawn}
        shown = {end: one for end, one in parts.items() if one is not None}
        for end, one in shown.items():
            name, said = (f"{figure.name}-{end}", f" ({end})") if end else (figure.name, "")
            alt = f"{figure.kind}: {figure.caption.partition('. ')[0]}{said}"
            self.output.figure(one, name, caption=f"{figure.caption}{said}", alt=alt)
        return bool(shown)

    def _listed(self, table: Table) -> bool:
        frame = table.frame(self.shown)
        if len(frame) or not table.otherwise:
            self.output.table(frame, table.name, caption=table.caption, digits=table.digits)
        return bool(len(frame))

    def texts(self) -> None:
        """The corpora of the run next to the paper's."""
        table = corpus_table(self.corpora, self.study.name, self.study.paper.corpora)
        caption = f"The texts, next to the paper's Table {self.study.paper.corpora}."
        self.output.table(table, "corpora", caption=caption, digits=1)

    def explore(self) -> Any:
        """The study's models on a few texts, to erase words and to edit attention."""
        from attnlib.viz.explorer import explore

        fits, options = self.study.part("figures", "explored")(self.params)
        texts = self.results.grid.corpora[next(iter(fits.values())).data].test[:6]
        return explore({name: self.results.grid.fitted(fit) for name, fit in fits.items()}, texts, **options)

    def settings(self) -> None:
        """What deviates from the paper and why, then every setting of the paper next to ours."""
        table = settings(self.study.name, self.study.grid(self.params))
        told = "Where this run deviates from the paper, and why."
        self.output.table(table[table["why"] != ""], "deviations", caption=told, folded=False)
        told = "Every setting that the paper or its code states, and that of the models of this run."
        self.output.table(table, "settings", caption=told, folded=True)

    def checks(self) -> None:
        """What must hold whatever the data; an error where something does not."""
        found = {"no run is missing": self.results.grid.failures.empty}
        found |= self.study.checks(self.results, self.params)
        failed = [name for name, holds in found.items() if not holds]
        if failed:
            raise AssertionError(f"{self.study.name}: these checks failed: {'; '.join(failed)}.")
        print(f"{len(found)} checks passed:", *found, sep="\n- ")
