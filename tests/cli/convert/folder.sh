# A folder needs a format; then each trace becomes a file.
mkdir run out
cp "$ROOT/tests/data/cli/small.json" run/a.json
gzip -c run/a.json >run/b.json.gz
code=0
"$KINO" convert run out || code=$?
echo "$code"
"$KINO" convert run out --to csv
"$KINO" convert run new/ --to json.zst
ls out new
