# The text grows with the square of the depth: what is out of proportion is refused before it is written.
{
    printf '{"traceEvents":['
    for i in $(seq 0 7999); do
        printf '%s{"ph":"X","pid":1,"tid":1,"ts":%d,"dur":%d,"cat":"cpu_op","name":"frame_number_%d"}\n' \
            "${comma:-}" "$i" $((20000 - 2 * i)) "$i"
        comma=,
    done
    printf ']}'
} >deep.json
code=0
"$KINO" convert deep.json deep.folded || code=$?
echo "$code" deep*
