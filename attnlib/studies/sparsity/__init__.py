"""Sparse attention (Meister et al. 2021)."""

from attnlib.studies.study import Deviation, Paper

PAPER = Paper(
    "Meister et al. 2021",
    "Is Sparse Attention more Interpretable?",
    "ACL 2021",
    "https://aclanthology.org/2021.acl-short.17/",
    corpora=3,
)
TIME = "for time on a processor"
JAIN = "Jain & Wallace's code"
DEVIATIONS = (
    Deviation("corpus", "IMDB, 20 Newsgroups, SST", "Rotten Tomatoes", "installs by name; the "
              "parent of SST", "section 3, Table 3"),
    Deviation("texts per split", "all", "4,000", f"a sample, {TIME}", "Table 3"),
    Deviation("word vectors", "fastText, simple English", "GloVe", "what installs by name", JAIN),
    Deviation("width of word vectors", "300", "50", "that of the vectors", JAIN),
    Deviation("width of h", "256, both directions; 128", "64", TIME, "Appendix B"),
    Deviation("λ of sparsegen", "not stated", "-1000; -30; -3; 0.9", "chosen on the scale of "
              "Figure 3", "section 4, Figure 3: from nearly softmax on"),
    Deviation("batch size", "32", "64", TIME, "Table 4"),
    Deviation("learning rate", "0.0001; 0.00001", "0.002; 0.001", "faster, so that few epochs "
              "suffice", "Table 4"),
    Deviation("epochs, at most", "8", "3", "Table 4's rates need many more than 8, faster ones "
              "fewer; the best on dev is kept", f"not stated; {JAIN}"),
    Deviation("epoch kept by", "AUC", "loss", "the dev loss, which also tells apart models that "
              "order texts equally well", f"not stated; {JAIN}, on dev texts"),
    Deviation("the first epoch may be kept", "no", "yes", "no epoch is left out", f"not stated; "
              f"{JAIN}"),
    Deviation("loss of a step", "sum", "mean", "Adam divides the scale out again; next to a mean, "
              "weight decay weighs more", f"not stated; {JAIN}"),
    Deviation("start of a frozen adversary's attention", "its base's", "drawn again, query normal",
              "the base is a local minimum of the loss, which attention does not leave",
              "section 4: all parameters"),
    Deviation("strength of the push", "not stated", "0; 0.1", "the weakest that moves attention "
              "far is judged; 0 is a control", "Table 5"),
    Deviation("epochs of an adversary", "80", "5", TIME, "Wiegreffe & Pinter's code"),
    Deviation("texts for correlations and entropies", "all", "120", f"a sample, {TIME}", "Table 6"),
    Deviation("texts for the influence on hidden states", "all", "120", f"a sample, {TIME}",
              "Table 1"),
    Deviation("texts for Appendix A", "not stated", "20", "a sample: one backward pass per "
              "component of every state", "Appendix A"),
)  # fmt: skip
