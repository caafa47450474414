# A file that may not grow further is an error, not a signal, and leaves nothing.
"$KINO" demo run --ranks 1 --no-info --quiet
code=0
(ulimit -f 16 && exec "$KINO" convert run/rank-0.json out.json) || code=$?
echo "$code" out*
