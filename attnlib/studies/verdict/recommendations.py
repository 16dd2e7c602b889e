"""What to use: for a task and an encoder, the attention design and the reading that are most faithful for their F1.

The table is that of a report of `06_verdict`, kept next to this file:

    python -m attnlib.studies.verdict.recommendations reports/06_verdict/cpu
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

from attnlib.utils.errors import DataError

FILE = Path(__file__).with_name("recommendations.csv")
COLUMNS = {
    "task": str, "encoder": str, "attention": str, "projection": str, "scaling": str, "regulariser": str,
    "reading": str, "test": str, "faithfulness": float, "low": float, "high": float, "gain": float,
    "gain low": float, "gain high": float, "f1": float, "f1 change": float,
}  # fmt: skip


def recommendations(encoder: str | None = None, task: str | None = None, *, file: Path = FILE) -> pd.DataFrame:
    """Recommended designs, of one encoder or task where named, the largest gain in faithfulness first."""
    if not file.is_file():
        raise DataError(
            f"There is no {file.name} yet: run `attnlib run 06_verdict --profile cpu`, then `python -m "
            f"{__spec__.name} REPORT` with the folder of its report."
        )
    # `none` is a scaling and a regulariser, not a missing value
    frame = pd.read_csv(file, dtype=COLUMNS, keep_default_na=False, na_values=[""])
    for column, wanted in (("encoder", encoder), ("task", task)):
        if wanted is not None:
            frame = frame[frame[column] == wanted]
    return frame.sort_values("gain", ascending=False, ignore_index=True)


def keep(report: Path, file: Path = FILE) -> pd.DataFrame:
    """Keep the table of a finished report; returns what can be read again."""
    table = pd.read_parquet(report / "tables" / "recommendations.parquet")
    table[list(COLUMNS)].round(4).to_csv(file, index=False)
    return recommendations(file=file)


if __name__ == "__main__":
    print(keep(Path(sys.argv[1])).to_string())
