"$KINO" convert "$ROOT/tests/data/cli/small.json" out.json --critical-path --annotation nothing_like_it || echo "exit $?"
"$KINO" convert "$ROOT/tests/data/cli/small.json" out.json --critical-path --instance 7 || echo "exit $?"
ls
