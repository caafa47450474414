# A window around the launch keeps the kernel that runs later, the op around the call, and the names of their tracks.
"$KINO" cut "$ROOT/tests/data/cli/small.json" out.json --from 25us --to 26us
"$KINO" query out.json "SELECT name, ts, dur FROM event WHERE ph <> 'M' ORDER BY ts" --format csv --quiet
# The kernel's own time brings its launch and its op along.
"$KINO" cut "$ROOT/tests/data/cli/small.json" out.json --from 0.2ms --to 0.3ms --category kernel
"$KINO" query out.json "SELECT name FROM event WHERE ph <> 'M' ORDER BY ts" --format csv --quiet
# From the end: the last step and the mark in it.
"$KINO" cut "$ROOT/tests/data/cli/small.json" - --from -700us --format json --quiet | grep -o '"name": "[^"]*"'
