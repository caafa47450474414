# Each command says what it lacks.
for words in info query "query x.json" convert "convert x.json"; do
    code=0
    # shellcheck disable=SC2086
    "$KINO" $words || code=$?
    echo "$code"
done
