# What makes no sense is said before anything is written.
try() {
    code=0
    "$KINO" recover "$@" || code=$?
    echo "$code"
}
mkdir empty broken
printf 'not a recorder' >broken/meta
: >broken/texts
: >broken/buffer
try
try empty
try empty out.json more
try empty out.json
try nowhere out.json
try broken out.json
try empty out.what
[ -e out.json ] && echo "something was written"
true
