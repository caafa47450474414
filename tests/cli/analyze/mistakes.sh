# Each mistake is named before a trace is opened, with what would fit.
for words in "" "completness x.json" "nothing x.json" completeness "completeness x.json --kinds trunc" \
    "completeness x.json --kind loss" "completeness x.json --steps 3" "completeness missing.json"; do
    code=0
    # shellcheck disable=SC2086
    "$KINO" analyze $words || code=$?
    echo "$code"
done
