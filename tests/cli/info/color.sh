# Colours only when asked for, and they are all that differs.
"$KINO" info --color always "$ROOT/tests/data/cli/small.json" >colored
"$KINO" info --color never "$ROOT/tests/data/cli/small.json" >plain
"$KINO" info "$ROOT/tests/data/cli/small.json" | cmp - plain
grep -q $'\033' colored
sed $'s/\033\\[[0-9]*m//g' colored | cmp - plain
NO_COLOR=1 "$KINO" info "$ROOT/tests/data/cli/small.json" | cmp - plain
