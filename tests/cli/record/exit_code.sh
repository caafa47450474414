# The program's output, exit code and standard input are its own; nothing to record is no error.
code=0
echo through | "$KINO" record --sampling off --quiet -- sh -c 'cat; exit 7' || code=$?
echo "exit $code"
"$KINO" record --sampling off --quiet -- true
ls
