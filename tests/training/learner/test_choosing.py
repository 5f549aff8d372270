"""Which memories are asked about: the shares, each once, and a random part that stays a fair sample."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from training.learner.choosing import LEAVING, RANDOM, UNCERTAIN, chosen, said_by_a_label

SHARES = {UNCERTAIN: 0.4, LEAVING: 0.3, RANDOM: 0.3}


def _chosen(count, shares=SHARES, seed=0, size=100, rank=None):
    random = np.random.default_rng(7)
    mean, variance = random.normal(size=size), random.uniform(0.1, 2, size=size)
    rank = random.permutation(size).astype(float) if rank is None else rank
    return mean, variance, rank, chosen(mean, variance, rank, count, shares, np.random.default_rng(seed))


def test_the_shares_are_kept_and_nothing_is_asked_twice():
    _, _, _, found = _chosen(50)
    assert Counter(choice.why for choice in found) == {UNCERTAIN: 20, LEAVING: 15, RANDOM: 15}
    assert len({choice.index for choice in found}) == 50


def test_those_that_say_most_and_those_nearest_to_leaving_are_taken():
    mean, variance, rank, found = _chosen(10, {UNCERTAIN: 1, LEAVING: 1})
    unsure = {choice.index for choice in found if choice.why == UNCERTAIN}
    assert unsure == set(np.argsort(-said_by_a_label(mean, variance))[:5].tolist())
    left = [index for index in np.argsort(rank) if index not in unsure][:5]
    assert {choice.index for choice in found if choice.why == LEAVING} == set(left)


def test_a_label_says_most_where_the_head_is_unsure():
    assert said_by_a_label([0.0], [4.0])[0] == pytest.approx(0.5 * np.log(2.0))
    said = said_by_a_label([0.0, 0.0, 4.0], [4.0, 1.0, 4.0])
    assert said[0] > said[1] > 0
    assert said[0] > said[2]


def test_every_memory_is_as_likely_to_be_in_the_random_part():
    found = Counter(
        choice.index for seed in range(2_000) for choice in _chosen(10, seed=seed, size=20)[3] if choice.why == RANDOM
    )
    assert len(found) == 20
    share = np.array([found[index] for index in range(20)]) / 2_000  # 3 of 20 each time
    assert np.abs(share - 3 / 20).max() < 4 * np.sqrt(0.15 * 0.85 / 2_000)


def test_where_nothing_leaves_its_share_is_random_and_more_than_there_are_is_all():
    _, _, _, found = _chosen(10, rank=np.full(100, np.nan))
    assert Counter(choice.why for choice in found) == {UNCERTAIN: 4, RANDOM: 6}
    assert sorted(choice.index for choice in _chosen(500)[3]) == list(range(100))
    assert chosen([], [], [], 5, SHARES, np.random.default_rng(0)) == []


def test_without_shares_all_are_random_and_one_seed_chooses_the_same():
    assert {choice.why for choice in _chosen(10, {})[3]} == {RANDOM}
    assert _chosen(10, seed=3)[3] == _chosen(10, seed=3)[3] != _chosen(10, seed=4)[3]
