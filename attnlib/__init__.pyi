"""The public surface, in the order of the reference: `attnlib.__init__` imports these names when first used."""

# ruff: isort: skip_file

from attnlib.config import ModelConfig as ModelConfig
from attnlib.config import DataConfig as DataConfig
from attnlib.config import TrainConfig as TrainConfig
from attnlib.data import Example as Example
from attnlib.data import Corpus as Corpus
from attnlib.data import load_corpus as load_corpus
from attnlib.models import Trace as Trace
from attnlib.training.fit import fit as fit
from attnlib.training.fitted import Fitted as Fitted
from attnlib.hf.classifier import load_model as load_model
from attnlib.engine.explainable import erase as erase
from attnlib.rankings.scores import importance as importance
from attnlib.erasure.flips import fraction_to_flip as fraction_to_flip
from attnlib.erasure.flips import top_token_flips as top_token_flips
from attnlib.erasure.flips import erasure_curves as erasure_curves
from attnlib.measures.faithfulness import comprehensiveness as comprehensiveness
from attnlib.measures.faithfulness import sufficiency as sufficiency
from attnlib.measures.faithfulness import aopc as aopc
from attnlib.auditing.run import audit as audit
from attnlib.store.specs import FitSpec as FitSpec
from attnlib.store.specs import MeasureSpec as MeasureSpec
from attnlib.store.grid import run_grid as run_grid
from attnlib.store.entries import Store as Store
from attnlib.studies.study import study as study
from attnlib.viz.heatmap import heatmap as heatmap
from attnlib.viz.explorer import explore as explore
from attnlib import stats as stats
from attnlib.viz import plots as plots

__version__: str
__all__: list[str]
