"""docs/strategies.md says of every strategy what the code says."""

from core.simulation.document import FILE, document
from core.simulation.strategies import STRATEGIES


def test_the_file_is_what_the_code_would_write():
    assert FILE.read_text(encoding="utf-8") == document(), "write it again: python -m core.simulation.document"


def test_every_strategy_has_a_row_of_four_filled_cells():
    rows = [line for line in document().splitlines() if line.startswith("| `")]
    cells = [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows]
    assert [row[0] for row in cells] == [f"`{name}`" for name in STRATEGIES]
    assert all(len(row) == 4 and all(row) for row in cells)
    titles = [row[1] for row in cells]
    assert len(set(titles)) == len(titles)
