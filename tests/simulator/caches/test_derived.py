from __future__ import annotations

import gc
from functools import partial
from weakref import ref

from simulator.caches.derived import Derived, share, twin


class Source:
    pass


def test_a_value_is_made_once_per_object_and_key():
    cache, source = Derived[object](), Source()
    value = cache.get(source, object, "key")
    assert cache.get(source, object, "key") is value
    assert cache.get(source, object, "other") is not value
    assert cache.get(Source(), object, "key") is not value


def test_two_caches_of_one_object_do_not_meet():
    source = Source()
    assert Derived[int]().get(source, lambda: 1) == 1
    assert Derived[int]().get(source, lambda: 2) == 2


def test_the_oldest_value_goes_first():
    cache, source = Derived[int](size=2), Source()
    for key in (1, 2, 3):
        cache.get(source, lambda key=key: key, key)
    assert [cache.get(source, lambda: -1, key) for key in (2, 3)] == [2, 3]
    assert cache.get(source, lambda: -1, 1) == -1


def test_a_value_that_refers_to_its_object_does_not_keep_it():
    cache, source = Derived[list[Source]](), Source()
    cache.get(source, partial(list, (source,)))
    alive = ref(source)
    del source
    gc.collect()
    assert alive() is None


def test_shared_values_serve_both_objects():
    cache, one, other = Derived[object](), Source(), Source()
    before = cache.get(one, object, "before")
    share(one, other)
    after = cache.get(other, object, "after")
    assert cache.get(other, object, "before") is before
    assert cache.get(one, object, "after") is after


def test_one_cache_can_be_shared_alone():
    shared, own, source, other = Derived[object](), Derived[object](), Source(), Source()
    before = own.get(source, object)
    shared.share(source, other)
    value = shared.get(other, object)
    assert shared.get(source, object) is value
    assert own.get(other, object) is not before


def test_a_value_that_refers_to_a_twin_ends_with_its_object():
    cache, common, source = Derived[list[Source]](own=True), Derived[object](), Source()
    before = common.get(source, object, "before")
    second = cache.get(source, partial(lambda it: [twin(it)], source))[0]
    assert common.get(second, object, "before") is before
    after = common.get(second, object, "after")
    assert common.get(source, object, "after") is after
    assert cache.get(second, list) == [] and cache.get(source, list) == [second]
    other = Source()
    share(source, other)
    assert cache.get(other, list) == [second]
    alive = ref(second)
    gc.disable()
    try:
        del second, other, source
        assert alive() is None
    finally:
        gc.enable()
