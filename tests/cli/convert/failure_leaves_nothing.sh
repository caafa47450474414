# An output that cannot be made leaves no file behind.
"$KINO" convert "$ROOT/tests/data/cli/small.json" missing/out.json || true
"$KINO" convert nothing.json out.json || true
ls
