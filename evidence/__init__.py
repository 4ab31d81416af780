"""The evidence: figures, tables and verdicts of the docs, made from the small files in results/.

    results/*.csv -> read -> tables, figures, claims -> pages

`python -m evidence` (`make evidence`) makes all of it again; nothing here trains or simulates.
"""
