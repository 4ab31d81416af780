"""A hard day for runs: kills, damaged files, hostile options, full disks, hours of training.

`make torture` runs `python -m torture`, which writes its figures to `results/torture.json`. A try ends well
in two ways: with the result that an untroubled one has, or in a sentence that says what is wrong. What
`torture.hostile` draws is drawn in the tests too, in smaller numbers.
"""
