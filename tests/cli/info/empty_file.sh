# An empty file is no trace.
: >empty.json
code=0
"$KINO" info empty.json 2>message || code=$?
head -c 32 message
echo " $code"
