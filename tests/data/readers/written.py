"""Tables written for tests, as people write them."""

GOOD = ["What a lovely film, truly", 'She said "wow" and\nleft happy', "Crust is not bad; tasty", "Best day ever"]
BAD = ["Terrible, I want my money back", "Waited an hour; cold food", "No. Just no way", "Broken after one week"]
PAIRS = [
    (f"{text} number {i}", label) for i in range(4) for label, texts in ((1, GOOD), (0, BAD)) for text in texts
]


def quoted(cell):
    return '"' + str(cell).replace('"', '""') + '"' if any(c in str(cell) for c in ',;\n\t"') else str(cell)


def table(path, header, rows, sep=",", encoding="utf-8", end="\n"):
    lines = [sep.join(map(quoted, row)) for row in ([header] if header else []) + rows]
    path.write_bytes((end.join(lines) + end).encode(encoding))
    return path


def check(corpus, classes):
    assert corpus.classes == classes
    assert len(list(corpus.items())) == len(PAIRS)
    for _, e in corpus.items():
        assert (e.label == len(classes) - 1) == any(g.lower().split()[1] in e.tokens for g in GOOD), e


def marked(path, values, column="split", header=("text", "label")):
    """Forty rows; the text names the value of its split, so that a leak can be seen."""
    rows = [
        [f"part{values[i % len(values)]} text {i}", "ab"[i // 2 % 2], values[i % len(values)]] for i in range(40)
    ]
    return table(path, [*header, column], rows)


def parts(corpus):
    """Which of the file's values each split holds."""
    return {
        split: {e.tokens[0].removeprefix("part") for s, e in corpus.items() if s == split}
        for split in ("train", "dev", "test")
    }
