"""Attention and information (Wen et al. 2022)."""

from attnlib.studies.study import Deviation, Paper

PAPER = Paper(
    "Wen et al. 2022",
    "Revisiting Attention Weights as Explanations from an Information Theoretic Perspective",
    "NeurIPS 2022 workshop",
    "",
    corpora=1,
)
TIME = "for time on a processor"
JAIN = "Jain & Wallace's code"
DEVIATIONS = (
    Deviation("corpora", "eleven: SST, IMDB, AG News, ADR, 20 Newsgroups, MIMIC, bAbI, SNLI",
              "Rotten Tomatoes, 20 Newsgroups, generated stories", "what installs by name or is "
              "generated; film reviews are the parent of SST, stories are like bAbI 1, whose mean "
              "words in Table 1 (8, 67, 421) are no means of its stories", "Table 1"),
    Deviation("limit of texts per split", "all", "3,000", f"a sample, {TIME}", "Table 1"),
    Deviation("posts of 20 Newsgroups", "split at random, without headers, footers and quotes",
              "split by date, with subjects and quotes", "the packaged version, which has lost its "
              "digits and punctuation", JAIN),
    Deviation("texts cut after words", "no", "60 (newsgroups)", TIME, JAIN),
    Deviation("word vectors", "fastText, simple English; learned with a query", "GloVe; learned "
              "with a query", "those that install by name", f"{JAIN}, preprocess"),
    Deviation("width of word vectors", "300; 50 with a query", "50", "that of the vectors",
              f"{JAIN}, configurations"),
    Deviation("Adam of word vectors", "dense", "lazy", f"the words of the batch alone, {TIME}",
              JAIN),
    Deviation("width of h (BiLSTM: both directions)", "256; 128", "64", f"narrower, {TIME}",
              "appendix A"),
    Deviation("kernel sizes of the CNN", "1, 3, 5, 7, 15", "1, 3, 5, 7", "without that of 15, "
              "longer than many texts", "appendix A"),
    Deviation("their width", "128", "64", f"narrower, {TIME}", "not stated; that of the encoders "
              "assumed"),
    Deviation("learning rate", "0.001", "0.001; 0.005 for stories", "generated texts are few",
              f"{JAIN}, trainer"),
    Deviation("texts per step", "32; 50", "32", "generated texts are few", f"{JAIN}, trainer"),
    Deviation("loss of a step", "sum", "mean", "Adam divides the scale out again; next to a mean, "
              "weight decay weighs more", f"{JAIN}, trainer"),
    Deviation("epochs, and those of adversaries", "8; 100 with a query; 80", "8; 12; 40",
              f"fewer, {TIME}", f"{JAIN}, trainer; Wiegreffe & Pinter's code"),
    Deviation("the first epoch may be kept", "no", "yes", "no epoch is left out", f"{JAIN}, "
              f"trainer"),
    Deviation("clusters, least and most", "50, 200", "50, 100", f"few texts allow more; {TIME}",
              "section 3.2.1"),
)  # fmt: skip
