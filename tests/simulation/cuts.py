"""Ways to cut the work of a ranking: fewer rows at once, blocks of a few answers, less memory."""

from dataclasses import replace

from core import batches, bounded, draws, kernel, ranking, selection, targeting
from core.acquisition import epig, sampled
from core.kernel import Kernel

BLOCKS = (
    (selection, "ROWS_AT_ONCE", 3),
    (bounded, "FIRST_BLOCK", 2),
    (kernel, "ANSWERS_AT_ONCE", 3),
    (draws, "DRAWS_AT_ONCE", 1000),
    (targeting, "PAIRS_AT_ONCE", 200),
    (epig, "JOINT_AT_ONCE", 2000),
    (sampled, "HELD", 10_000),
)


def few_rows(monkeypatch, rows: int) -> list[int]:
    """At most this many pool images at once, everywhere; the sizes of the parts, as they are made."""
    real, before, made = kernel.slices, Kernel.before_answers.__func__, []

    def slices(total, size):
        for part in real(total, min(size, rows)):
            made.append(part.stop - part.start)
            yield part

    def smaller(cls, *arguments, **options):
        return replace(before(cls, *arguments, **options), rows=rows)

    for module in (kernel, bounded, selection, ranking, batches):
        monkeypatch.setattr(module, "slices", slices)
    monkeypatch.setattr(Kernel, "before_answers", classmethod(smaller))
    return made


def small_blocks(monkeypatch) -> None:
    """Everything else that is computed in blocks, in small ones."""
    for module, name, size in BLOCKS:
        assert getattr(module, name) > size
        monkeypatch.setattr(module, name, size)


def little_memory(monkeypatch, gigabytes: float) -> list[bool]:
    """A budget; for each ranker that works by bounds, whether its bounds have slopes."""
    made, real = [], bounded.BoundedRanker.__init__

    def init(self, base, columns=5, slopes=True):
        made.append(slopes)
        real(self, base, columns, slopes)

    monkeypatch.setenv("PENUMBRA_MEMORY_GB", str(gigabytes))
    monkeypatch.setattr(bounded.BoundedRanker, "__init__", init)
    return made
