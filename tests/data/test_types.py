def test_sample_and_stats(planted):
    small = planted.sample(20, seed=1)
    assert [len(small.train), len(small.dev), len(small.test)] == [20, 20, 20]
    stats = planted.stats()
    assert stats["texts"].tolist() == [240, 60, 60]
    assert (stats["vocabulary"] == len(planted.vocabulary)).all()
