# Texts that a program hands to its operators, and the names it gives its process groups, are its own; numbers, lists
# of numbers and PyTorch's own words stay.
cat >a.json <<'TRACE'
{"distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 2, "pg_config": [
  {"pg_name": "0", "pg_desc": "default_pg", "backend_config": "cuda:nccl", "ranks": [0, 1]},
  {"pg_name": "project_falcon", "pg_desc": "falcon experts", "backend_config": "cuda:nccl"}]},
 "traceEvents": [
 {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 2,
  "args": {"Concrete Inputs": ["", "falcon/weights.bin", "3", "[1, 2]", "True"], "Input Dims": [[2, 3]]}},
 {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "pid": 0, "tid": 7, "ts": 1, "dur": 2,
  "args": {"Process Group Name": "project_falcon", "Process Group Description": "falcon experts", "Collective name": "allreduce"}}
]}
TRACE
"$KINO" convert a.json b.json --redact --quiet
grep -c falcon b.json || true
grep -o '"default_pg"\|"cuda:nccl"\|"\[1, 2\]"\|"True"\|"allreduce"' b.json
