# What makes no sense is said before any daemon is asked.
try() {
    code=0
    "$KINO" trigger "$@" || code=$?
    echo "$code"
}
export KINO_DAEMON_SOCKET=$TMP/nobody
try
try 4711
try --all --pids 4711
try --pids 4711,x
try --pids 0
try --all --duration 5
try --all --duration 0s
try --all --duration 1s --iterations 3
try --all --iterations 0
try --all --round-up 5
try --all --iterations 3 --start-at +20s
try --all --start-at yesterday
try --all --gpu-only --activities kernel
try --all --no-wait --to kino
try --all --to yaml
try --cancel x --socket "$TMP/nobody"
try --all --socket "$TMP/nobody" --port 5
try --all --port 70000
try --all --socket "$TMP/nobody"
try --cancel 3 --socket "$TMP/nobody"
