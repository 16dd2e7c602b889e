"""HTML goes, everything that only looks like it stays, and no text takes long."""

import own_tables
import pytest

from attnlib.data import Preprocessing, load_corpus
from attnlib.data.markup import without_html, without_tags

STRIP = Preprocessing(html="strip")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("good.<br /><br />bad", "good . bad"),
        ("one<BR>two<br/>three</br>four", "one two three four"),
        ("cut off <br", "cut off"),
        ("cut off <br /", "cut off"),
        ("<p>one</p><p>two</p>", "one two"),
        ("un<b>believ</b>able", "unbelievable"),
        ('see <a href="http://x.org/?a=1&amp;b=2" target=_blank>this</a>', "see this"),
        ("<!-- hidden <b>words</b> -->seen", "seen"),
        ("<script>if (a < b) alert('x')</script >seen", "seen"),
        ("<STYLE type='text/css'>p {color: red}</style>seen", "seen"),
        ("<!DOCTYPE html><?xml version='1.0'?>seen", "seen"),
        ("&quot;so&quot; &#39;good&#x27; &amp; more&nbsp;still", "\" so \" ' good ' & more still"),
        ("twice &lt;br /&gt;&lt;br /&gt; escaped", "twice escaped"),
        ("I &lt;3 it", "i <3 it"),
    ],
)
def test_markup_goes(text, words):
    assert " ".join(STRIP.tokens(text)) == words


@pytest.mark.parametrize(
    "text",
    [
        "a < b and c > d",
        "a <b and c> d",
        "I <3 you",
        "<unk> <pad> <DE> <user>",
        "mail <me@home.org> or <http://x.org>",
        "AT&T, R&D; black&white, ?a=1&copy=2",
        "a <div class='never closed",
        "x <-- y --> z",
        "<script> that never ends",
        "<brave> <paper> <strongly>",
        "&#99999999; &nosuchname; & ; &;",
    ],
)
def test_what_only_looks_like_markup_stays(text):
    assert without_html(text) == text


def test_marks_stay_on_their_words():
    text = "<p>A <b>so go</b>od film</p><br/>&amp; more"
    start = text.index("so")
    assert STRIP.marked(text, [(start, text.index("od") + 2)]) == (
        ("a", "so", "good", "film", "&", "more"),
        (False, True, True, False, False, False),
    )
    assert without_tags("<b>x</b>y", [(0, 4), (1, 2), (8, 9), (0, 9)])[1] == [(0, 1), (0, 0), (1, 2), (0, 2)]


@pytest.mark.parametrize(
    "piece", ["<!--", "<script>", "<a ", "<a =", "<br ", "<", "&", "&#", "<a href=x<", "</", "= "]
)
def test_every_text_is_read_in_one_pass(piece):
    """Were any pattern to start over at every sign, these would take hours."""
    text = "x" + piece * 300_000 + "-->"
    assert without_html(text)[0] == "x"


def test_reviews_from_the_web_hold_no_markup(tmp_path):
    corpus = load_corpus(own_tables.write(tmp_path, "html"))
    assert not any("<" in word or ">" in word or word == "br" for word in corpus.vocabulary.words[4:])
    assert any("HTML removed from 200 of 200 texts" in note for note in corpus.notes)


def test_the_papers_corpora_keep_their_own_steps(tmp_path):
    path = tmp_path / "notes.csv"
    path.write_text("text,label\n" + "".join(f"Pt <b>w{chr(97 + i)} &amp; so on,{i % 2}\n" for i in range(20)))
    corpus = load_corpus("anemia", path=str(path))
    assert corpus.preprocessing.html == "keep"
    assert all({"<", "amp"} <= set(e.tokens) for e in corpus.train)
