"""What Explore weighs with many images: bytes of the first paint, and the server's memory over 2,000 thumbnails."""

import pytest

from benchmarks.explore_paint import Wire, browsing, make, opened

IMAGES = 3000
BYTES_OF_A_MARK = 15  # on the map: 11 packed, 14.7 in base64; tests/pages/test_explore.py holds it at 10,000 images


@pytest.fixture(scope="module")
def project(site, tmp_path_factory) -> int:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PENUMBRA_HOME", str(site.server.home))
        return make(site.database, tmp_path_factory.mktemp("weight") / "images", IMAGES, "weight")


def test_the_first_paint_of_ten_thousand_images_is_under_three_megabytes(site, project, chromium):
    context = chromium.new_context(viewport={"width": 1366, "height": 860})
    page = context.new_page()
    wire = Wire(context, page)
    opened(page, site.server, project)
    page.wait_for_selector(".legend b")
    page.wait_for_timeout(3000)
    sent = wire.figures()
    context.close()
    assert sent["how_many"] > 20, "the first thumbnails are there"
    assert sent["socket"] > 50_000, "the map is there"
    assert sent["socket"] + sent["thumbnails"] + (10_000 - IMAGES) * BYTES_OF_A_MARK < 3_000_000


def test_two_thousand_thumbnails_leave_the_servers_memory_as_it_was(site, project, chromium):
    context = chromium.new_context(viewport={"width": 1366, "height": 2400})
    found = browsing(context, site.server, project, 2000)
    assert found["browsed"] >= 2000
    assert found["memory"]["growth_mb"] < 150
