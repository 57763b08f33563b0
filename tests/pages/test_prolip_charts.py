"""The figures of the ProLIP page hold what they are given, letter by letter, and its files harm no spreadsheet."""

import pytest

from pages.parts import prolip, prolip_charts, prolip_image_charts
from pages.parts.reading import _Memory
from tests.gaussian import ToyGaussians

HOSTILE = "<img src=x onerror=alert(1)> & <b>bold</b> &lt;"


def test_tags_and_entities_stay_letters():
    assert prolip_charts.plain(HOSTILE, 200) == (
        "&lt;img src=x onerror=alert(1)&gt; &amp; &lt;b&gt;bold&lt;/b&gt; &amp;lt;"
    )
    assert prolip_charts.plain("a" * 50, 10) == "a" * 9 + "…"


def test_bars_keep_texts_apart_that_are_the_same_when_shortened():
    texts = ["x" * 60 + "1", "x" * 60 + "2", "2024"]
    chart = prolip_charts.uncertainty_bars(texts, [0.3, 0.2, 0.1])
    assert list(chart.data[0].y) == [0, 1, 2]
    assert list(chart.layout.yaxis.ticktext)[2] == "2024"


@pytest.mark.parametrize("n", [1, 2, 25])
def test_every_pair_has_a_cell_that_names_both(n):
    texts = [f"{HOSTILE} {i}" for i in range(n)]
    chart = prolip_charts.inclusion(texts, [[float(i - j) for j in range(n)] for i in range(n)])
    heat = chart.data[0]
    assert len(heat.z) == len(heat.customdata) == n
    assert "<" not in heat.customdata[0][0][0]
    assert heat.zmax == -heat.zmin > 0


@pytest.mark.parametrize(
    ("value", "said"), [(0.0, "0"), (-0.524, "-0.52"), (9.7, "10"), (-17.2, "-17"), (999.9, "1.0k"), (-22371.0, "-22k")]
)
def test_inclusion_is_said_in_few_digits(value, said):
    assert prolip_charts.compact(value) == said


def test_a_vague_prompt_is_crossed():
    chart = prolip_charts.vagueness(["a", "b"], ["{class}", "x {class}"], [[1.0, 2.0], [2.0, 1.0]], [[0, 1], [1, 0]])
    assert len(chart.data[1].x) == 2
    assert len(prolip_charts.vagueness(["a"], ["{class}"], [[1.0]], [[0]]).data) == 1


def test_the_limit_is_drawn_only_where_a_text_is_cut():
    assert not prolip_charts.against_length(["a"], [3], [0.1], 10).layout.shapes
    assert prolip_charts.against_length(["a"], [13], [0.1], 10).layout.shapes


def test_no_cell_of_a_csv_is_run_as_a_formula():
    assert (
        prolip.table(["text", "H"], [["=1+1", -2.5], ["@SUM(A1)", 0.0]]) == "text,H\r\n'=1+1,-2.5\r\n'@SUM(A1),0.0\r\n"
    )


def test_memory_reads_each_text_once_and_forgets_the_longest_unused():
    memory, encoder, said = _Memory(most=3), ToyGaussians(), []
    first = memory.gaussians(encoder, ["a", "b", "a"], lambda *report: said.append(report))
    assert (encoder.read, len(first)) == (2, 3)
    memory.gaussians(encoder, ["c", "a"], lambda *_: None)
    memory.gaussians(encoder, ["d"], lambda *_: None)  # "b" was used longest ago
    before = encoder.read
    memory.gaussians(encoder, ["a", "c", "d"], lambda *_: None)
    assert encoder.read == before
    memory.gaussians(encoder, ["b"], lambda *_: None)
    assert encoder.read == before + 1


def test_what_is_counted_has_whole_ticks():
    few, many = [0.1, 0.2, 0.2], [0.1] * 90 + [0.2]
    for values, tick in ((few, 1), (many, None)):
        chart = prolip_image_charts.histogram(values, prolip_image_charts.bins(values))
        assert chart.layout.yaxis.dtick == tick
    assert prolip_charts.against_length(["a", "b"], [1, 2], [0.1, 0.2], 9).layout.xaxis.dtick == 1
    assert prolip_charts.against_length(["a", "b"], [1, 40], [0.1, 0.2], 9).layout.xaxis.dtick is None


def test_a_heat_map_has_its_scale_where_its_cells_have_no_numbers():
    for size, scale in ((3, False), (20, True)):
        (heat,) = prolip_charts.inclusion(["t"] * size, [[0.0] * size] * size).data
        assert heat.showscale is scale
        assert (heat.texttemplate is None) is scale
