mkfifo pipe
cat "$ROOT/tests/data/cli/small.json" >pipe &
exec 3<pipe # the writer has opened its end once this returns
"$KINO" info --format csv --table steps pipe
