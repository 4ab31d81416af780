"""The statements of the paper: each module checks a few of them and lists them in its `STATEMENTS`.

Four modules are what the checks share: `tilting` (tilted weights and the worst expectation of many rows),
`rows` (random rows of values), `worlds` (small MDPs) and `rates` (measured slopes beside predicted ones).
"""
