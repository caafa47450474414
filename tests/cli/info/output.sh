# --output writes the same bytes into a file, and nothing to standard output.
"$KINO" info --output info.txt "$ROOT/tests/data/cli/small.json"
"$KINO" info "$ROOT/tests/data/cli/small.json" | cmp - info.txt
