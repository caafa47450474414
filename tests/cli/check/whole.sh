# Nothing wrong: the verdict in the first line, then what could not be checked; exit code 0 also with --fail-on.
"$KINO" check "$ROOT/tests/data/cli/small.json" --fail-on any
"$KINO" check "$ROOT/tests/data/cli/small.json" --format md | head -1
"$KINO" check "$ROOT/tests/data/cli/small.json" --format csv | head -1
