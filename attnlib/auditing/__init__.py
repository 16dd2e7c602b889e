"""The audit: can attention be read as an explanation of this classifier, and if not, what is the cheapest repair?

`rules.yaml` holds gates and borders; `rules` turns effects into a verdict; `probe` asks a model what it answers
without some of its tokens; `rows` measures, and makes rows of it, behind gates; `trainings` holds the budget, and
what only new trainings can tell or repair; `card` shows it all, `run` puts it together. `calibration.csv` says how
often the verdicts are right on models whose truth is known.
"""
