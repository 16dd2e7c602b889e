"""Erasing attention weights (Serrano & Smith 2019)."""

from attnlib.studies.study import Deviation, Paper

PAPER = Paper(
    "Serrano & Smith 2019",
    "Is Attention Interpretable?",
    "ACL 2019",
    "https://aclanthology.org/P19-1282/",
    corpora=1,
)
SMALL = "the cpu profile is smaller than the paper's grid, to fit minutes"
SHORT = "a few epochs at a higher rate, to fit minutes"
YANG = "Yang et al. 2016, by way of appendix A.1"
DEVIATIONS = (
    Deviation("data set", "Yahoo, IMDB, Amazon, Yelp: five or ten classes", "20 Newsgroups",
              "the paper's are too large to train on within minutes, or no longer offered: Yelp's "
              "challenge of 2017, the ten-star IMDB; Amazon is on the hub in a smaller collection",
              "section 3, Table 1"),
    Deviation("texts per split at most", "all", "3,000", SMALL, "Table 1"),
    Deviation("sentences", "spaCy's parser (en_core_web_sm)", "20 words in a row", "needs no "
              "parser; where a corpus has no punctuation, runs of words replace its lost sentences",
              "released code"),
    Deviation("words of a text", "50 sentences of 350 words (Yahoo)", "100", SMALL, "released "
              "code; not stated"),
    Deviation("least count of a word", "5, over train and dev", "the corpus's own, over train",
              "fewer texts", "released code"),
    Deviation("word vectors", "word2vec, trained on the data set for 30 iterations", "GloVe",
              "the kit does not train word2vec: a file for each data set (`vector_files`) brings "
              "such vectors", f"{YANG}; released code"),
    Deviation("width of word vectors", "200", "50", SMALL, YANG),
    Deviation("width of the encoder's output", "100", "64", SMALL, YANG),
    Deviation("inner width of attention", "as wide as what it reads: 100, or 200", "64, or 50",
              SMALL, YANG),
    Deviation("initial values", "Xavier, orthogonal for recurrent weights", "PyTorch's",
              "one start for all encoders of the kit", "released code"),
    Deviation("learning rate", "0.0001 to 0.0004", "0.002", SHORT, "appendix A.1"),
    Deviation("rate halved without progress on dev", "yes", "no", SHORT, "released code"),
    Deviation("epochs at most", "15 to 60", "6", SHORT, "released code"),
    Deviation("patience", "5; 10 without an encoder", "2", SHORT, "appendix A.1"),
    Deviation("word vectors updated by Adam", "dense", "lazy", "a word moves only where it occurs; "
              "cheaper", "released code"),
    Deviation("trainings of a model", "1", "3", "so that claims have intervals", "released code"),
    Deviation("test texts erased from", "all", "1,000", SMALL, "section 4"),
)  # fmt: skip
