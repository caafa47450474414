# An empty folder is served too; the address is printed, and SIGTERM ends it with 0.
mkdir runs
"$KINO" serve runs --port 0 >said 2>notes &
server=$!
for _ in $(seq 200); do
    [ -s said ] && break
    sleep 0.05
done
sed 's/:[0-9][0-9]*\//:PORT\//' said
cat notes
kill "$server"
wait "$server"
