# Wrong usage, and what a summary is not for.
"$KINO" demo run --ranks 1 --steps 2 --size 200kB --no-info --quiet
try() { "$KINO" "$@" 2>&1 || echo "exit $?"; }
try summarize
try summarize run
try summarize run -o x --part 0/3
try summarize run -o x --part 4/3
try summarize run -o x --part 3
try summarize run -o x --analyses nothing
try summarize run -o x --analyses kernels:5
try summarize run -o x --analyses kernels:top=5
try summarize missing -o x
try summarize run -o run.summary --analyses call-graph,kernel-breakdown:num_kernels=2
"$KINO" analyze call-graph run.summary --format csv >got
"$KINO" analyze call-graph run --format csv | cmp - got
"$KINO" analyze kernel-breakdown --num-kernels 2 run.summary --format csv >got
"$KINO" analyze kernel-breakdown --num-kernels 2 run --format csv | cmp - got
try analyze kernel-breakdown --num-kernels 3 run.summary
try report --full run.summary
try query run.summary "SELECT 1"
try convert run.summary out.json
try report run.summary run/rank-0.json
try report run.summary run.summary
head -c 100 run.summary >cut.summary
try report cut.summary
