refuse() {
    "$KINO" convert "$ROOT/tests/data/cli/small.json" out.json "$@" || echo "exit $?"
}
refuse --instance 1
refuse --all-edges
refuse --top-k 3
refuse --compat hta
refuse --include-last-step
refuse --critical-path --instance last
refuse --counters --compat pyprof
refuse --kernel-sequences aten:: --top-k few
refuse --kernel-sequences aten:: --redact
ls
