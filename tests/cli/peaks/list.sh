# Figures of some devices, as their data sheets have them; each of them has a source.
"$KINO" peaks --format csv >list
head -1 list
grep -E '^(v100-sxm|a100-sxm-80gb|h100-sxm|mi300x|tpu-v5e),' list
[ "$(tail -n +2 list | wc -l)" -ge 40 ]
tail -n +2 list | awk -F, '$NF == "" { print "no source: " $0 }'
"$KINO" peaks --format csv nonsense || echo "$?"
