"$KINO" convert "$ROOT/tests/data/cli/small.json" out.folded --stacks everything || echo $?
"$KINO" convert "$ROOT/tests/data/cli/small.json" out.folded --weight bytes || echo $?
