# Own time by stack; other names of the format; calls; only some spans.
trace=$ROOT/tests/data/cli/small.json
"$KINO" convert "$trace" out.folded && cat out.folded
"$KINO" convert "$trace" out.collapsed && cmp out.folded out.collapsed
"$KINO" convert "$trace" - --to collapsed | cmp - out.folded
"$KINO" convert "$trace" out.folded.gz && gzip -dc out.folded.gz | cmp - out.folded
"$KINO" convert "$trace" - --to folded --weight count --stacks op
