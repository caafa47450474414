# No spans of the kind asked for: an error, and no file.
"$KINO" convert "$ROOT/tests/data/cli/small.json" out.folded --stacks python || echo $?
"$KINO" convert "$ROOT/tests/data/cli/small.json" out.speedscope.json --stacks python || echo $?
ls
