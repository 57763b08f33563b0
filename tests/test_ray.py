"""The same bits from a Ray cluster as from this machine; here a cluster of two processes on this machine.

Axes: N images · p activations.
"""

import os
import sys
from dataclasses import dataclass

import pytest
import torch
from PIL import Image

from core import encoding, estimation, ray_pool
from core.data.pairs import open_pairs
from core.encoders import load_encoder, loading
from core.encoders.openclip import OpenClipEncoder
from core.errors import InputError, ModelError, NotReady
from core.estimation import estimate
from core.features import FeatureStore, encode_files
from core.images import sha256_file
from core.ray_pool import ROOT, Cluster, on_ray
from core.values import Features
from tests.encoders.test_loading import tiny, write_model
from tests.test_curvatures import pairs, tar  # noqa: F401 (fixtures)


@pytest.fixture(scope="module")
def local_ray():
    """Ray on this machine alone: two processors, no dashboard, no file in the user's folder."""
    import ray

    said = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "disabled"}
    said |= {"RAY_worker_register_timeout_seconds": "300", "RAY_worker_niceness": "0"}  # a busy machine starves others
    with pytest.MonkeyPatch.context() as patch:
        for name, value in said.items():
            patch.setenv(name, value)
        ray.init(
            num_cpus=2,
            include_dashboard=False,
            log_to_driver=False,
            logging_level="ERROR",
            object_store_memory=100 * 2**20,
            _node_ip_address="127.0.0.1",
            runtime_env={"env_vars": {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}},
        )
        yield
        ray.shutdown()


@pytest.fixture
def cluster(local_ray, monkeypatch):
    """What spreads work over the local Ray from when it is called."""
    return lambda: monkeypatch.setenv("PENUMBRA_RAY_ADDRESS", "local")


@pytest.fixture
def encoder(tmp_path, monkeypatch):
    """A tiny CLIP with random weights, as it comes from a folder."""
    monkeypatch.setattr(loading, "_reachable", lambda endpoint: False)
    write_model(tmp_path / "base", tiny())
    return load_encoder(f"local-dir:{tmp_path / 'base'}", device="cpu")


@dataclass(frozen=True)
class TellsBatches:
    """Features that say how many images were encoded together, as the last bits of a large model's do."""

    inner: OpenClipEncoder

    def preprocess(self, image):
        return self.inner.preprocess(image)

    def encode_images(self, pixels):
        return Features(self.inner.encode_images(pixels).activations * len(pixels))


@pytest.fixture
def files(tmp_path):
    """20 images of noise; one is broken, one has changed, one is gone."""
    found = []
    for number in range(20):
        path = tmp_path / f"{number}.png"
        noise = torch.randint(256, (40, 50, 3), generator=torch.Generator().manual_seed(number), dtype=torch.uint8)
        Image.fromarray(noise.numpy()).save(path)
        found.append((sha256_file(path), path))
    (tmp_path / "3.png").write_bytes(b"no image")
    Image.new("RGB", (5, 5)).save(tmp_path / "9.png")
    (tmp_path / "10.png").unlink()
    return found


def test_images_are_encoded_to_the_same_bits(encoder, files, tmp_path, cluster, monkeypatch):
    monkeypatch.setattr(encoding, "starting_batch", lambda *_: 3)  # so that broken files stand within batches
    monkeypatch.setattr(encoding, "PIECE", 6)
    encoder = TellsBatches(encoder)
    stores = [FeatureStore(tmp_path / name, "f") for name in ("here", "there")]
    problems = encode_files(stores[0], encoder, files)
    cluster()
    monkeypatch.setattr(TellsBatches, "encode_images", lambda *_: pytest.fail("it was encoded here"))
    said = []
    assert encode_files(stores[1], encoder, files, on_progress=lambda *each: said.append(each)) == problems
    assert len(problems) == 3
    good = [sha for sha, path in files if path not in dict(problems)]
    here, there = (store.load(good).activations for store in stores)
    assert torch.equal(here, there)
    assert len(here.unique(dim=0)) == 17
    assert said[-1] == (20, 20, "encoding")


def test_curvature_has_the_same_bits(encoder, pairs, tar, tmp_path, cluster, monkeypatch):  # noqa: F811
    monkeypatch.setattr(estimation, "ENCODED_AT_ONCE", 2)
    stream = open_pairs([tar, pairs])
    here = estimate(encoder, stream, tmp_path / "here", block=3)
    cluster()
    said = []
    there = estimate(encoder, stream, tmp_path / "there", block=3, on_progress=lambda *each: said.append(each))
    for side in ("image", "text"):
        ours, theirs = getattr(here, side), getattr(there, side)
        assert torch.equal(ours.A, theirs.A)
        assert torch.equal(ours.B, theirs.B)
        assert ours.A.count_nonzero() > 0
    assert (there.pairs, there.blocks, there.skipped) == (here.pairs, here.blocks, here.skipped) == (20, 7, 2)
    assert there.problems == here.problems
    assert said[-1][0] == said[-1][1]


def fail(shared, item):
    raise ModelError(f"{shared} {item}")


def die_once(marker, item):
    """Where a machine is lost, its work is done again elsewhere."""
    if item == 2 and not marker.exists():
        marker.touch()
        os._exit(1)
    return item, os.getpid()


def test_what_fails_there_is_said_here_and_the_work_of_a_lost_process_is_done_again(cluster, tmp_path):
    cluster()
    with Cluster(tmp_path / "marker") as processes:
        with pytest.raises(ModelError) as caught:
            processes.result(processes.begin(fail, 1))
        assert str(caught.value) == f"{tmp_path / 'marker'} 1"
        promises = [processes.begin(die_once, item) for item in range(6)]
        results = [processes.result(promise) for promise in promises]
    assert [item for item, _ in results] == list(range(6))
    assert (tmp_path / "marker").exists()
    assert os.getpid() not in {pid for _, pid in results}


def test_without_the_package_or_the_cluster_it_says_what_to_do(monkeypatch):
    monkeypatch.setenv("PENUMBRA_RAY_ADDRESS", "10.255.255.1:6379")
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(NotReady, match=r"pip install -r requirements-far\.txt"):
        list(on_ray(fail, None, [1]))
    monkeypatch.undo()
    import ray

    def nobody(**_):
        raise ConnectionError("nobody there")

    monkeypatch.setenv("PENUMBRA_RAY_ADDRESS", "10.255.255.1:6379")
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", nobody)
    with pytest.raises(InputError, match=r"no Ray cluster answers at PENUMBRA_RAY_ADDRESS=10\.255\.255\.1:6379"):
        list(on_ray(fail, None, [1]))


def test_unset_nothing_of_ray_is_touched(encoder, files, tmp_path, monkeypatch):
    monkeypatch.setattr(ray_pool, "_connected", lambda: pytest.fail("Ray was asked"))
    monkeypatch.delenv("PENUMBRA_RAY_ADDRESS", raising=False)
    assert len(encode_files(FeatureStore(tmp_path / "store", "f"), encoder, files)) == 3
