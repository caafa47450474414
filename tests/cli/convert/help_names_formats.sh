# Every format that can be written is in the help, made from the list of writers.
"$KINO" convert --help >help
for format in json speedscope.json folded csv; do
    grep -c "^  $format " help
done
