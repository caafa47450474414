# What is typed wrong is said before anything runs, with the exit codes of shells.
try() {
    local code=0
    "$KINO" record "$@" || code=$?
    echo "exit $code"
}
try
try --sampling often -- true
try --output trace.unknown -- true
try -o nowhere/trace.kino -- true
try -- no-such-program
try -- ./no-such-program
echo text >file
try -- ./file
chmod +x file
mkdir folder
try -- ./folder
try --durations 3 -- true
try --buffer 1MB -- true
