# What comes out is valid JSON with the same events; a second round changes nothing.
"$KINO" convert "$ROOT/tests/data/cli/small.json" once.json
"$KINO" convert once.json twice.json
cmp once.json twice.json
python3 - "$ROOT/tests/data/cli/small.json" once.json <<'END'
import decimal, json, sys

def normal(value):
    """Numbers as decimals, the order of keys apart."""
    if isinstance(value, decimal.Decimal):
        return str(value.normalize())
    if isinstance(value, dict):
        return sorted((key, normal(item)) for key, item in value.items())
    return value

def read(path):
    document = json.load(open(path), parse_float=decimal.Decimal, parse_int=decimal.Decimal)
    events = document.pop("traceEvents")
    return document, sorted(repr(normal(event)) for event in events)

left, right = read(sys.argv[1]), read(sys.argv[2])
print(len(left[1]), left[1] == right[1], left[0] == right[0])
END
