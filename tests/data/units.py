"""The texts of numbers by their definition, slowly and exactly: python3 tests/data/units.py > tests/data/units.tsv

C (tests/unit/render/test_units.c) and TypeScript (web/tests/units.test.ts) must both write what the file says. A line is kind,
value, text. Values that are divided go through a double, as in both programs; digits are then cut exactly, ties to even."""
import random
from decimal import ROUND_HALF_EVEN, Decimal

UNITS = (("µs", 1000, 999950), ("ms", 10**6, 999950000), ("s", 10**9, 60 * 10**9))
BYTES = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def cut(value, decimals):
    return str(Decimal(value).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_EVEN))


def scaled(value):
    decimals = 3 if value < 10 else 2 if value < 100 else 1 if value < 1000 else 0
    text = cut(value, decimals)
    return text.rstrip("0").rstrip(".") if decimals else text


def duration(ns):
    sign, size = "-" if ns < 0 else "", abs(ns)
    if size < 1000:
        return f"{sign}{size} ns"
    for name, unit, below in UNITS:
        if size < below:
            return f"{sign}{scaled(size / unit)} {name}"
    seconds = size // 10**9
    if seconds < 3600:
        return f"{sign}{seconds // 60} min {seconds % 60:02} s"
    return f"{sign}{seconds // 3600} h {seconds // 60 % 60:02} min"


def size(count):
    sign, value, unit = "-" if count < 0 else "", float(abs(count)), 0
    while value >= 1023.5 and unit + 1 < len(BYTES):
        value /= 1024
        unit += 1
    return f"{sign}{scaled(value)} {BYTES[unit]}"


def percent(value):
    return f"{cut(value, 1)} %"


def count(value):
    return f"{value:,}"


def lines():
    draw = random.Random(7)
    integers = [0, 1, -1, 999, 1000, 1023, 1024, 1500, 1536, 1048063, 1048064, 2**30 - 2**19 - 1, 2**30 - 2**19, 80 * 2**30, 12345, 999949, 999950, 999949999, 999950000, 1062500, 1187500, 59999999999, 60 * 10**9, 61 * 10**9,
                3599999999999, 3600 * 10**9, 7500 * 10**9, 85017755648, -2500000, 2**53 - 1]
    integers += [draw.randrange(-10**power, 10**power) for power in range(2, 16) for _ in range(12)]
    reals = [0.0, 0.25, 0.75, -0.25, 0.05, 99.95, 100.0, 24.2309, 1e-7] + [draw.uniform(-150, 150) for _ in range(60)] + [n / 16 for n in range(1, 40)]
    for value in integers:
        for kind, text in (("duration", duration), ("bytes", size), ("count", count)):
            yield f"{kind}\t{value}\t{text(value)}"
    for value in reals:
        yield f"percent\t{value!r}\t{percent(value)}"


if __name__ == "__main__":
    print("\n".join(lines()))
