# Neither text nor JSON of another kind is a trace: exit 1 and one line that names the file.
echo "hello world" >text.json
echo '{"a": [1, 2, 3]}' >other.json
head -c 5000 /dev/zero >zeros.json
for file in text other zeros; do
    code=0
    "$KINO" info $file.json 2>message || code=$?
    grep -c "^kino: cannot read '$file.json': ." message
    wc -l <message
    echo "$code"
done
