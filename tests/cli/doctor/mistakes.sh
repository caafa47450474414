# What makes no sense is said, with exit code 2; what does not hold, with 3.
try() {
    code=0
    "$KINO" doctor "$@" >/dev/null || code=$?
    echo "$code"
}
try clok
try clock --require tscc
try clock --format yaml
try --pid 999999999
try system --require open-files
(ulimit -n 100 && try system --require open-files)
KINO_DIR=/nowhere try system --require buffer-folder,open-files
KINO_PLUGINS=/nowhere/x.so try device --require plugin 2>&1 | sed 's/missing: .*/missing: .../'
