# Long windows, and frames to be skipped in front of the first one, behind it and alone.
command -v zstd >/dev/null || { echo "zstd is not installed" >&2; exit 77; }
trace=$ROOT/tests/data/cli/small.json
zstd -q --long=31 --ultra -19 <"$trace" >long.json.zst
printf '\120\052\115\030\003\000\000\000abc' >skip
zstd -q <"$trace" >plain.zst
cat skip plain.zst skip >skipped.json.zst
for file in long.json.zst skipped.json.zst; do
    "$KINO" query $file "SELECT count(*), sum(dur) FROM event" --format csv --quiet
done
"$KINO" query "$trace" "SELECT count(*), sum(dur) FROM event" --format csv --quiet
code=0
"$KINO" info skip || code=$?
echo "$code"
