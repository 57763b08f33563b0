"""Nobody's text is read as Markdown; figures have three digits."""

from datetime import UTC, datetime, timedelta

import pytest

from pages.parts.text import ago, count, duration, escape, figure, small


@pytest.mark.parametrize("text", ["![x](http://a/b.png)", "<img src=x>", "$a$ :red[b] `c`", "*a* _b_ ~~c~~ # 1. - | d"])
def test_every_character_that_markdown_reads_is_escaped(text):
    shown = escape(text)
    for place, character in enumerate(shown):
        if character in "\\`*_[]<>#!|~$:":
            assert shown[place - 1] == "\\" or character == "\\"


def test_a_name_stays_on_its_line():
    assert escape("two\n\n# lines") == "two \\# lines"


def test_figures():
    assert (figure(0.12345), figure(None), count(1, "image"), count(3021, "image")) == (
        "0.123",
        "–",
        "1 image",
        "3,021 images",
    )
    assert (duration(8.4), duration(200), duration(7500)) == ("8 s", "3 min", "2 h 5 min")


@pytest.mark.parametrize(("seconds", "words"), [(5, "just now"), (61, "1 minute ago"), (7300, "2 hours ago")])
def test_ago(seconds, words):
    now = datetime(2024, 5, 1, tzinfo=UTC)
    assert ago(now - timedelta(seconds=seconds), now) == words


@pytest.mark.parametrize(("value", "said"), [(0.01234, "0.0123"), (5.24e-11, "5.2·10⁻¹¹"), (0.0, "0"), (1.5, "1.5")])
def test_small_figures_are_read_without_e(value, said):
    assert small(value) == said


@pytest.mark.parametrize("text", ["(http://a/b.png)", "see HTTPS://a.b", "www.a.b", "eve@x.org"])
def test_no_address_becomes_a_link_and_nothing_is_seen_of_it(text):
    shown = escape(text)
    assert "\u2060" in shown, "Markdown makes links of what is escaped, too"
    assert shown.replace("\\", "").replace("\u2060", "") == text
