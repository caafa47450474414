# B and E are one span, whole on both sides of the window's edge; asynchronous events are kept all or not at all.
pairs="$ROOT/tests/data/chrome/pairs_and_async.json"
"$KINO" cut "$pairs" - --from 2us --to 2.4us --format json | grep -o '"ph": *"."'
"$KINO" cut "$pairs" - --from 7.2us --to 7.6us --format json | grep -o '"ph": *"."'
