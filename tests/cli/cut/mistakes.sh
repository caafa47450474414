# What makes no sense is said before anything is read or written.
small="$ROOT/tests/data/cli/small.json"
try() {
    code=0
    "$KINO" cut "$@" || code=$?
    echo "$code"
}
try
try "$small"
try "$small" out.json
try "$small" out.json --from 1.5h
try "$small" out.json --from 0.5ns
try "$small" out.json --from 2ms --to 1ms
try "$small" "$TMP" --from 0
try "$small" out.json --category kernl
try "$small" out.json --name gemm
try "$small" out.json --from 1s
try "$small" out.json --drop nothing
[ -e out.json ]
