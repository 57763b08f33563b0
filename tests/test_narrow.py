"""A queue narrowed to a domain and to a predicted class."""

import pytest
from sqlalchemy import update

from core.kernel import predictive
from core.queue import DISAGREEMENTS, Narrow, queue_for
from core.team import TeamSettings, change_settings, mark_gold
from core.workspace import ranker_of
from db import repository
from db.models import Item
from db.repository import LabelKind
from tests.test_queue import event, ids, people  # noqa: F401 (a fixture)

DOMAINS = ("art", "photo", None)


@pytest.fixture
def domains(database, project):
    """item → its domain: every third image of the pool is of none."""
    with database.write() as s:
        items = [item.id for item in repository.items(s, project, "pool")]
        found = {item: DOMAINS[i % 3] for i, item in enumerate(items)}
        for item, domain in found.items():
            s.execute(update(Item).where(Item.id == item).values(domain=domain))
    return found


def guesses(queue):
    """item → the id of its likeliest class."""
    space = queue.space
    best = predictive(space.posterior, space.features, space.texts).argmax(dim=1).tolist()
    return {item.id: space.project.classes[c].id for item, c in zip(space.pool, best, strict=True)}


@pytest.mark.parametrize("source", ["epig", "entropy", "random"])
def test_all_images_inside_the_filter_come_and_no_others(database, project, people, domains, source):  # noqa: F811
    queue = queue_for(database, project, source)
    likeliest = guesses(queue)
    guess = likeliest[queue.serve(people[0], 1)[0].item_id]
    for narrow in (Narrow(domain="art"), Narrow(guess=guess), Narrow("photo", guess), Narrow("nowhere"), Narrow()):
        inside = {
            item
            for item, domain in domains.items()
            if narrow.domain in (None, domain) and narrow.guess in (None, likeliest[item])
        }
        served = ids(queue.serve(people[0], 1000, narrow))
        assert sorted(served) == sorted(inside), narrow


def test_the_first_of_a_filter_is_the_best_inside_it(database, project, people, domains):  # noqa: F811
    queue = queue_for(database, project, "epig")
    scores = ranker_of(queue.space, "epig").scores().tolist()
    inside = {item.id: score for item, score in zip(queue.space.pool, scores, strict=True) if domains[item.id] == "art"}
    assert ids(queue.serve(people[0], 1, Narrow("art"))) == [max(inside, key=inside.__getitem__)]


def test_what_was_held_outside_is_given_back_at_once(database, project, people, domains):  # noqa: F811
    queue = queue_for(database, project, "epig")
    before = ids(queue.serve(people[0], 9))
    kept = [item for item in before if domains[item] == "photo"]
    assert ids(queue.serve(people[0], 2, Narrow("photo")))[: len(kept)] == kept[:2]
    with database.read() as s:
        held = [item for item, _ in repository.leases(s, project)]
    assert {domains[item] for item in held} == {"photo"}
    strays = [item for item in before if domains[item] != "photo"]
    assert set(strays) <= set(ids(queue.serve(people[1], 1000)))


def test_gold_second_votes_and_what_was_passed_obey_the_filter(database, project, people, domains):  # noqa: F811
    ada, bo = people
    change_settings(database, project, ada, TeamSettings(overlap=1.0, gold=0.5))
    queue = queue_for(database, project, "random")
    first = queue.serve(ada, 1000)
    by_domain = {domain: [card for card in first if domains[card.item_id] == domain] for domain in DOMAINS}
    mark_gold(database, project, ada, {by_domain["art"][0].item_id: first[0].guesses[0].class_id})
    queue.apply(ada, [event(by_domain["art"][1]), event(by_domain["photo"][1])])  # a second vote is wanted
    for cards in by_domain.values():
        queue.apply(bo, [event(cards[2], LabelKind.LATER)])
    for number in range(4):
        queue.apply(bo, [event(by_domain[None][3 + number], number=9)])  # gold is due now
    served = ids(queue.serve(bo, 1000, Narrow("photo")))
    assert {domains[item] for item in served} == {"photo"}
    assert served[0] == by_domain["photo"][1].item_id
    assert served[-1] == by_domain["photo"][2].item_id
    gold = by_domain["art"][0].item_id
    assert gold == ids(queue.serve(bo, 1, Narrow("art")))[0]


def test_a_review_can_be_narrowed_too(database, project, people, domains):  # noqa: F811
    queue = queue_for(database, project, "random")
    cards = queue.serve(people[0], 6)
    for card in cards:  # both answer, the second says otherwise
        queue.apply(people[0], [event(card)])
        queue.apply(people[1], [event(card, number=1, guess=1)])
    reviewing = queue_for(database, project, DISAGREEMENTS)
    inside = [item for item in sorted(ids(cards)) if domains[item] == "art"]
    assert ids(reviewing.serve(people[0], 9, Narrow("art"))) == inside
    likeliest = guesses(reviewing)
    guess = likeliest[cards[0].item_id]
    assert set(ids(reviewing.serve(people[0], 9, Narrow(guess=guess)))) == {
        *(item for item in ids(cards) if likeliest[item] == guess)
    }
