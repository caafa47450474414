# Without a daemon it is said where was looked, and how to start one.
try() {
    code=0
    "$KINO" status "$@" || code=$?
    echo "$code"
}
try --socket "$TMP/nobody"
try --host 127.0.0.1 --port 9
try --pids x
try x
