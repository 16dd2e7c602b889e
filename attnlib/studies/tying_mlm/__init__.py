"""Word-level objectives (Tutek & Šnajder 2020)."""

from attnlib.studies.study import Deviation, Paper

PAPER = Paper(
    "Tutek & Šnajder 2020",
    "Staying True to Your Word: (How) Can Attention Become Explanation?",
    "RepL4NLP 2020",
    "https://aclanthology.org/2020.repl4nlp-1.17/",
    corpora=5,
)
TIME = "time on a CPU"
JAIN = "Jain & Wallace's code"
WIEGREFFE = "Wiegreffe & Pinter's code"
DEVIATIONS = (
    Deviation("corpora", "SST, AG News, 20 Newsgroups, IMDB, MIMIC anemia; diabetes for "
              "adversaries", "Rotten Tomatoes", "installs by name; it is the parent of SST",
              "section 3.5"),
    Deviation("texts per split, at most", "all", "4,000", TIME, "section 3.5"),
    Deviation("word vectors", "fastText", "GloVe 6B", "installs by name", f"not stated; {JAIN}"),
    Deviation("width of word vectors", "300", "50", TIME, "Table 4"),
    Deviation("word vectors are trained", "no", "yes, in every variant", "frozen vectors of 50 "
              "numbers cost 4 points of F1 on SST", "section 3.1, of MLM; of others not stated"),
    Deviation("width of the LSTM, each direction", "150", "25", "as wide as the word vectors, "
              "which tying, residual and MLM need", "Table 4"),
    Deviation("tying: what δ is next to", "not stated", "a sum over the batch", "next to a mean, "
              "the same δ weighs as much more as a batch has texts; a later study of the first "
              "author has the mean", JAIN),
    Deviation("epochs, and those of adversaries", "8; 80", "4; 6", TIME, f"not stated; {JAIN}; "
              f"{WIEGREFFE}"),
    Deviation("stops early, and adversaries do", "no; after 10 epochs without a better one",
              "after 2; 6", TIME, f"{JAIN}; {WIEGREFFE}"),
    Deviation("the first epoch may be kept", "no", "yes", "no epoch is left out", f"not stated; "
              f"{JAIN}"),
    Deviation("MLM: weights η", "0.1; 0.3; 1; 3; 5", "0.1; 0.3", TIME, "Table 4"),
    Deviation("words of mutual information", "1,000", "200", TIME, "section 3.4"),
    Deviation("its clusters", "1,000", "200", TIME, "section 3.4"),
    Deviation("its batch of k-means", "100", "4,096", "larger batches are faster and find better "
              "clusters", "section 3.4"),
    Deviation("its occurrences at most", "1,000,000", "30,000", TIME, "section 3.4"),
    Deviation("its inputs", "clusters of word vectors", "words", "with as many clusters as words "
              "that is what clustering finds at best", "section 3.4"),
    Deviation("adversary: training texts", "all", "1,500", TIME, WIEGREFFE),
)  # fmt: skip
