# The name and a version number.
"$KINO" --version | sed -E 's/[0-9]+\.[0-9]+\.[0-9]+/N.N.N/'
