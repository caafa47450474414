# Two traces of three steps: a kernel that grew from 10 to 12 us and one that is new; expressions that hold and that do not.
make_trace() { # file, us of gemm, more kernels
    python3 - "$@" <<'END'
import json, sys
path, gemm, more = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
events = []
for step in range(3):
    at = 100 + step * 200
    events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 1, "tid": 1, "ts": at, "dur": 90 + gemm})
    events.append({"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": at + 1, "dur": 20, "args": {"External id": step + 1}})
    for i, (name, dur) in enumerate([("gemm", gemm)] + [(name, 3) for name in more]):
        ids = {"External id": step + 1, "correlation": 10 * step + i + 1}
        events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": at + 2 + i, "dur": 1, "args": ids})
        events.append({"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": at + 10 + 30 * i, "dur": dur, "args": ids})
json.dump({"traceEvents": events}, open(path, "w"))
END
}
make_trace a.json 10
make_trace b.json 12 "relu<4, float>"
for words in "step_time>5%" "step_time>1%" "kernel>2%&>30us" "kernel>2%&>1us" "op:aten::mm>40%" "category:Kernel>4us,step_time>3us"; do
    code=0
    "$KINO" diff a.json b.json --quiet --fail-on "$words" >out.txt || code=$?
    echo "$words: $code"
done
code=0
"$KINO" diff a.json b.json --quiet --fail-on "step_time>1%" --fail-on "kernel:gemm>10%" --format md --output out.md || code=$?
echo "both: $code"
cat out.md
"$KINO" diff a.json a.json
# The other way round it is faster: the check passed. And what only one of them was recorded with is said.
"$KINO" diff b.json a.json --quiet --fail-on "step_time>1%" | sed -n '1,/^$/p'
"$KINO" diff b.json a.json --quiet --fail-on "step_time>1%" --format json | grep -A1 '"expression"' | grep -o '"passed"[^}]*\|\["step_time.*'
python3 - <<'END'
import json
trace = json.load(open("a.json"))
trace["with_stack"] = 1
trace["traceEvents"].append({"ph": "X", "cat": "python_function", "name": "train.py(1): f", "pid": 1, "tid": 1, "ts": 100, "dur": 50})
json.dump(trace, open("stacks.json", "w"))
END
"$KINO" diff stacks.json b.json --quiet | sed -n '1,/^$/p'
