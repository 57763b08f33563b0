"""Agreement: published examples, the statistics' relations, and what is not defined."""

import random
from collections import Counter
from dataclasses import dataclass
from itertools import combinations

import pytest

from core.agreement import cohen, cohen_pairs, fleiss, krippendorff, raw


@dataclass(frozen=True)
class Vote:
    item_id: int
    person_id: int
    class_id: object


def votes_of(table):
    """Votes from {person: "1 2 * 3"}: what each said of item 0, 1, …; * nothing."""
    return [
        Vote(item, person, said)
        for person, row in table.items()
        for item, said in enumerate(row.split())
        if said != "*"
    ]


def counted(rows):
    """Votes from rows of counts per class, as Fleiss prints them; who said what does not matter to him."""
    return [
        Vote(item, person, c)
        for item, row in enumerate(rows)
        for person, c in enumerate(c for c, count in enumerate(row) for _ in range(count))
    ]


# Krippendorff, Computing Krippendorff's alpha-reliability (2011), section C: four observers, 12 units, missing values.
OBSERVERS = {
    1: "1 2 3 3 2 1 4 1 2 * * *",
    2: "1 2 3 3 2 2 4 1 2 5 * 3",
    3: "* 3 3 3 2 3 4 2 2 5 1 *",
    4: "1 2 3 3 2 4 4 1 2 5 1 *",
}
# Fleiss, Measuring nominal scale agreement among many raters (1971) as worked through by the textbooks: 14 raters.
FOURTEEN = [
    *[(0, 0, 0, 0, 14), (0, 2, 6, 4, 2), (0, 0, 3, 5, 6), (0, 3, 9, 2, 0), (2, 2, 8, 1, 1)],
    *[(7, 7, 0, 0, 0), (3, 2, 6, 3, 0), (2, 5, 3, 2, 2), (6, 5, 2, 1, 0), (0, 2, 2, 3, 7)],
]
# 50 grants read by two people: both yes 20, both no 15, only the first yes 5, only the second yes 10.
GRANTS = {1: "y " * 20 + "n " * 15 + "y " * 5 + "n " * 10, 2: "y " * 20 + "n " * 15 + "n " * 5 + "y " * 10}


def test_krippendorffs_example():
    found = krippendorff(votes_of(OBSERVERS))
    assert (round(found.value, 3), found.items) == (0.743, 11)


def test_fleiss_example():
    found = fleiss(counted(FOURTEEN))
    assert (round(found.value, 3), found.items) == (0.210, 10)


def test_cohens_textbook_example():
    found = cohen(votes_of(GRANTS), 1, 2)
    assert (round(found.value, 3), found.items) == (0.4, 50)


def test_cohen_is_what_scikit_learn_says():
    metrics = pytest.importorskip("sklearn.metrics", reason="needs scikit-learn")
    rng = random.Random(0)
    one, other = ([rng.choice("aabc") for _ in range(80)] for _ in range(2))
    votes = votes_of({1: " ".join(one), 2: " ".join(other)})
    assert cohen(votes, 1, 2).value == pytest.approx(metrics.cohen_kappa_score(one, other))


def test_raw_agreement_is_the_share_of_equal_pairs():
    votes = votes_of(OBSERVERS)
    by_item = {item: [vote.class_id for vote in votes if vote.item_id == item] for item in range(12)}
    pairs = [(a, b) for said in by_item.values() for a, b in combinations(said, 2)]
    pooled = Counter(a == b for a, b in pairs)
    assert raw(votes).value == pytest.approx(pooled[True] / len(pairs))


def test_alpha_is_fleiss_with_a_correction_for_few_votes():
    """With k votes on each of m items, n = km: 1 − α = (1 − κ)(n − 1)/n."""
    rng = random.Random(1)
    votes = [Vote(item, person, rng.choice("aab")) for item in range(30) for person in range(3)]
    n = len(votes)
    assert 1 - krippendorff(votes).value == pytest.approx((1 - fleiss(votes).value) * (n - 1) / n)


def test_neither_names_of_classes_nor_the_order_of_votes_matter():
    votes = votes_of(OBSERVERS)
    other = [Vote(vote.item_id, vote.person_id, f"class {vote.class_id}") for vote in reversed(votes)]
    for statistic in (raw, fleiss, krippendorff):
        assert statistic(other).value == pytest.approx(statistic(votes).value)


def test_perfect_agreement_is_one():
    votes = votes_of({1: "a b a c", 2: "a b a c", 3: "a b a c"})
    assert [raw(votes).value, fleiss(votes).value, krippendorff(votes).value, cohen(votes, 1, 3).value] == [1.0] * 4


def test_fleiss_takes_the_images_with_the_commonest_number_of_votes():
    votes = votes_of({1: "a b a c", 2: "a b b c", 3: "* * * c"})
    assert fleiss(votes) == fleiss([vote for vote in votes if vote.item_id < 3])


@pytest.mark.parametrize("statistic", [raw, fleiss, krippendorff])
def test_without_a_shared_image_nothing_is_defined_and_it_says_so(statistic):
    for votes in ([], votes_of({1: "a b *", 2: "* * c"})):
        found = statistic(votes)
        assert (found.value, found.items) == (None, 0)
        assert "two people" in found.why


def test_one_class_throughout_leaves_nothing_to_compare():
    votes = votes_of({1: "a a a", 2: "a a a"})
    assert raw(votes).value == 1
    for found in (fleiss(votes), krippendorff(votes), cohen(votes, 1, 2)):
        assert found.value is None
        assert found.items == 3
        assert "same class" in found.why


def test_two_who_share_nothing_are_told_so():
    found = cohen_pairs([*votes_of({1: "a b *", 2: "* b c"}), Vote(9, 3, "a")])
    assert list(found) == [(1, 2), (1, 3), (2, 3)]
    assert found[1, 2].items == 1
    assert (found[1, 3].value, found[1, 3].why) == (None, "they answered no image in common yet")
