# What one analysis means, takes and gives; the options of the command follow.
"$KINO" analyze completeness --help >help
sed -n '1,/^options:/p' help
"$KINO" help analyze completeness | cmp - help
"$KINO" analyze --rank 0 completeness --help | cmp - help
"$KINO" analyze --help | head -1
