"""python -m kino is the program kino."""
from ._program import main

main()
