# docs/analyses has a page for each analysis, made from its definition, and no other.
python3 "$ROOT/tools/make-analysis-docs" --kino "$KINO" --check
