# What is wrong is named before anything is read.
run() {
    code=0
    "$KINO" diff "$@" || code=$?
    echo "$code"
}
run
run a.json
run a.json b.json c.json
run vs b.json
run a.json vs
run a.json b.json --fail-on "step_tme>5%"
run a.json b.json --fail-on "step_time>5%" --fail-on "kernel>2%&30us"
run a.json b.json --compat hta
run missing.json,also.json b.json
