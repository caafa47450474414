"""Are two traces the same? Multisets of events, numbers equal as decimals, whatever the order of keys."""
import collections
import decimal
import functools
import json


@functools.lru_cache(maxsize=None)
def number(text):
    """Numbers that are equal as decimals become the same text, which no string of a trace is."""
    value = decimal.Decimal(text)
    return f"\0number {value.normalize() if value else 0}"


def refuse(word):
    raise ValueError(f"{word} is not JSON")


def read(data, is_strict):
    """The document, every number as number() has it."""
    return json.loads(data.decode("utf-8"), parse_float=number, parse_int=number, parse_constant=refuse, strict=is_strict)


def count(items):
    """A multiset of JSON values; the order of keys does not count."""
    return collections.Counter(json.dumps(item, sort_keys=True) for item in items)


def first_difference(got, want):
    missing, extra = want - got, got - want
    return f"{sum(missing.values())} missing, {sum(extra.values())} extra; first missing {str(next(iter(missing), ''))[:400]}; " \
           f"first extra {str(next(iter(extra), ''))[:400]}"
