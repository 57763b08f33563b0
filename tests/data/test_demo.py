"""The demo set: laid out as promised, each picture a function of seed, domain, class and number alone."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from core.data.demo import DEMO_CLASSES, DEMO_DOMAINS, draw_demo
from core.data.demo.render import Camera, expose, mesh_of
from core.data.demo.sheets import panel
from core.errors import Cancelled

SIZE = 48


@pytest.fixture(scope="module")
def demo(tmp_path_factory) -> Path:
    return draw_demo(tmp_path_factory.mktemp("demo"), per_class=2, size=SIZE)


def pictures(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*.jpg"))}


def test_lays_pictures_out_as_office_home_does(demo):
    expected = {
        f"{domain}/{name}/{name.lower()}_{number:03d}.jpg"
        for domain in DEMO_DOMAINS
        for name in DEMO_CLASSES
        for number in (1, 2)
    }
    assert set(pictures(demo)) == expected
    assert (len(DEMO_DOMAINS), len(DEMO_CLASSES)) == (4, 12)


def test_pictures_are_rgb_of_the_size_asked_for_and_show_something(demo):
    for path in demo.rglob("*.jpg"):
        with Image.open(path) as image:
            assert (image.format, image.mode, image.size) == ("JPEG", "RGB", (SIZE, SIZE))
            assert np.asarray(image).std() > 5, path


def test_no_two_pictures_are_alike(demo):
    assert len(set(pictures(demo).values())) == 2 * 4 * 12


def test_manifest_says_whose_the_pictures_are(demo):
    manifest = json.loads((demo / "demo.json").read_text())
    assert "drawn by Penumbra" in manifest["note"]
    assert "CC0" in manifest["note"]
    assert (manifest["seed"], manifest["per_class"]) == (0, 2)


def test_a_picture_depends_on_its_seed_and_not_on_how_many_are_drawn(demo, tmp_path):
    same = pictures(draw_demo(tmp_path / "same", per_class=1, size=SIZE))
    assert same == {name: data for name, data in pictures(demo).items() if name in same}
    other = pictures(draw_demo(tmp_path / "other", seed=1, per_class=1, size=SIZE))
    assert not set(other.values()) & set(same.values())


def test_a_complete_set_is_left_alone_and_a_broken_one_mended(tmp_path):
    draw_demo(tmp_path, per_class=1, size=SIZE)
    first = sorted(tmp_path.rglob("*.jpg"))[0]
    drawn = first.read_bytes()
    first.write_bytes(b"a person's own")
    draw_demo(tmp_path, per_class=1, size=SIZE, on_progress=lambda *call: pytest.fail("drew a picture again"))
    assert first.read_bytes() == b"a person's own"
    first.unlink()
    draw_demo(tmp_path, per_class=1, size=SIZE)
    assert first.read_bytes() == drawn


def test_a_stopped_drawing_leaves_no_manifest(tmp_path):
    def stop(done: int, total: int, message: str) -> None:
        if done == 3:
            raise Cancelled("stopped")

    with pytest.raises(Cancelled):
        draw_demo(tmp_path, per_class=1, size=SIZE, on_progress=stop)
    assert not (tmp_path / "demo.json").exists()


def test_progress_counts_every_picture_once(tmp_path):
    calls = []
    draw_demo(tmp_path, per_class=1, size=SIZE, on_progress=lambda *call: calls.append(call[:2]))
    assert calls == [(done, 48) for done in range(1, 49)]


def test_the_nearer_of_two_panels_hides_the_other():
    far = panel((-1, 1), (-1, 1), 0.0, np.array([1.0, 0, 0]), inked=True)
    near = panel((-0.5, 0.5), (-0.5, 0.5), 0.5, np.array([0, 1.0, 0]), inked=True)
    camera = Camera(np.array([0, 0, 4.0]), np.diag([1.0, 1, -1]), 40.0, np.array([16.0, 16.0]), 32)
    for order in ([far, near], [near, far]):
        film = expose(mesh_of(order), camera)
        image = np.zeros((32 * 32, 3))
        image[film.pixel] = film.colour
        image = image.reshape(32, 32, 3)
        # 40 / 3.5 · 0.5 = 5.7 pixels to each side for the near panel, 40 / 4 = 10 for the far one.
        np.testing.assert_array_equal(image[16, 16], [0, 1, 0])
        np.testing.assert_array_equal(image[16, 24], [1, 0, 0])
        assert (image[..., 1] > 0).sum() == 12 * 12
        assert (image.sum(-1) > 0).sum() == 20 * 20
