"""A pool on disk reads as the one in memory."""

import hashlib
from dataclasses import replace

import pytest
import torch
from torch.testing import assert_close

from core.acquisition.table import Acquisition
from core.config import GB, memory_budget
from core.errors import InputError
from core.features import FeatureStore
from core.ranking import make_ranker
from core.stored import StoredPool, pool_features
from core.values import Features
from tests.small import P_TEXT, generator, random_features, random_posterior


@pytest.fixture
def stored(tmp_path):
    """(store, sha256s in another order than stored, their features)"""
    features = random_features(50, residuals=True)
    features = replace(features, log_variance=features.residuals - 5)
    shas = [hashlib.sha256(str(i).encode()).hexdigest() for i in range(50)]
    store = FeatureStore(tmp_path, "small")
    for start in range(0, 50, 20):
        store.append(shas[start : start + 20], features[start : start + 20])
    order = torch.randperm(50, generator=generator()).tolist()
    return store, [shas[i] for i in order], features[order]


def same(one: Features, other: Features) -> bool:
    parts, others = one.parts(), other.parts()
    return parts.keys() == others.keys() and all(torch.equal(parts[name], others[name]) for name in parts)


def test_slices_and_positions_read_the_same(stored, monkeypatch):
    monkeypatch.setattr("core.stored.BLOCK", 16)
    store, shas, features = stored
    pool = StoredPool(store, shas)
    assert len(pool) == 50
    for part in (slice(0, 7), slice(7, 14), slice(14, 21), slice(40, 99), slice(3, 44)):
        assert same(pool[part], features[part])
    assert same(pool[torch.tensor([9, 2, 9])], features[[9, 2, 9]])
    assert same(pool[[1]], features[[1]])


def test_only_a_pool_that_fits_is_held(stored):
    store, shas, features = stored
    assert same(pool_features(store, shas, 10**9), features)
    assert isinstance(pool_features(store, shas, 10**9), Features)
    assert isinstance(pool_features(store, shas, 1000), StoredPool)


def test_picks_are_the_same_from_disk(stored):
    store, shas, features = stored
    posterior, targets, texts = random_posterior(), features[:5], random_features(4, P_TEXT)
    in_memory, on_disk = (
        make_ranker(Acquisition.EPIG, posterior, pool, targets, texts, rng=generator(), memory=memory).pick(20)
        for pool, memory in ((features, 10**9), (pool_features(store, shas, 1000), 1000))
    )
    assert on_disk == in_memory


@pytest.mark.parametrize("memory", [1, 10**9])
def test_a_whole_pool_is_picked_from_disk_also_where_scores_are_alike(tmp_path, memory):
    features = random_features(50, residuals=True)
    features.activations[30:] = 0  # the head says nothing of these: all score 0
    shas = [hashlib.sha256(str(i).encode()).hexdigest() for i in range(50)]
    store = FeatureStore(tmp_path, "alike")
    store.append(shas, features)
    pool, texts = pool_features(store, shas, 1000), random_features(4, P_TEXT)
    ranker = make_ranker(
        Acquisition.EPIG, random_posterior(), pool, features[:5], texts, rng=generator(), memory=memory
    )
    assert sorted(ranker.pick(60)) == list(range(50))
    assert_close(ranker.scores(), ranker.scores_at(range(50)))


def test_the_budget_is_the_option_the_variable_or_a_share_of_the_machine(monkeypatch):
    monkeypatch.setenv("PENUMBRA_MEMORY_GB", "3")
    assert memory_budget() == 3 * GB
    assert memory_budget(1.5) == 1.5 * GB
    monkeypatch.delenv("PENUMBRA_MEMORY_GB")
    assert memory_budget() > GB // 10


@pytest.mark.parametrize("asked", ["much", "-1", "nan", "inf"])
def test_a_budget_that_is_none_is_refused(monkeypatch, asked):
    monkeypatch.setenv("PENUMBRA_MEMORY_GB", asked)
    with pytest.raises(InputError, match="positive number"):
        memory_budget()
