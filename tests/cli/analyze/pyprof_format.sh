# PyProf's formats are for one analysis; the others refuse them.
printf '{"traceEvents": [{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 10, "dur": 32, "args": {"correlation": 1, "device": 0, "stream": 7, "grid": [4, 1, 1], "block": [256, 1, 1]}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 2, "ts": 5, "dur": 1, "args": {"correlation": 1}}]}' >t.json
"$KINO" analyze kernel-costs t.json --format pyprof-dict
"$KINO" analyze kernel-costs t.json --format pyprof-csv --columns idx,kernel,sil,tc
"$KINO" analyze kernel-costs t.json --format pyprof-table --width 60
"$KINO" analyze kernel-costs t.json --format pyprof-table --width 30 || echo "$?"
"$KINO" analyze kernel-costs t.json --columns idx,nonsense || echo "$?"
"$KINO" analyze op-costs t.json --format pyprof-dict || echo "$?"
"$KINO" analyze op-costs t.json --peak nonsense || echo "$?"
