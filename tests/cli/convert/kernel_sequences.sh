# aten::mm runs one kernel: it, its launch and the kernel belong to the sequence.
"$KINO" convert "$ROOT/tests/data/cli/small.json" out.json --kernel-sequences aten:: --min-pattern-len 1
"$KINO" query out.json "SELECT name, json_extract(args, '$.Patterns') AS patterns FROM event WHERE ph = 'X' ORDER BY id" --format csv
"$KINO" convert "$ROOT/tests/data/cli/small.json" none.json --kernel-sequences aten:: || echo "exit $?"
ls
