"""`python -m rapo`."""

from rapo.cli import main

main()
