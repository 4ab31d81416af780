# make demo   create the environment and run the main job
# make test   create the environment and run the tests
# Another Python, as in make test PYTHON=python3.12, has an environment of its own, .venv-3.12.
PYTHON ?= python3
VENV := .venv$(if $(filter-out python3,$(PYTHON)),-$(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])'))
READY := $(VENV)/.ready

.PHONY: demo test test-sb3 torture lint dist bench figures evidence evidence-runs docs clean

demo: $(READY)
	$(VENV)/bin/rapo demo

test: $(READY)
	$(VENV)/bin/pytest -n 2 --dist loadfile --no-loadscope-reorder

test-sb3: .venv-sb3/.ready
	.venv-sb3/bin/pytest tests-sb3

# Some hours: kills, damaged files, hostile options, full disks, then MINUTES of training.
MINUTES := 60
torture: $(READY)
	$(VENV)/bin/python -m torture --minutes $(MINUTES) --json results/torture.json

lint: $(READY)
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/lint-imports --no-logo
	$(VENV)/bin/basedpyright

dist: $(READY)
	rm -rf dist
	$(VENV)/bin/python -m build --no-isolation --outdir dist

bench: $(READY)
	$(VENV)/bin/rapo bench world --json results/bench-world.json
	$(VENV)/bin/rapo bench wrapped --json results/bench-wrapped.json
	$(VENV)/bin/rapo bench train --algos rapo rapo,law=models,models=16 rapo,law=models,models=64 ppo --json results/bench-train.json
	$(VENV)/bin/rapo bench evidence --json results/bench-evidence.json
	$(VENV)/bin/rapo bench report --json results/bench-report.json
	$(VENV)/bin/rapo bench tabular --json results/bench-tabular.json
	$(VENV)/bin/rapo bench start --json results/bench-start.json

docs: $(READY)
	$(VENV)/bin/sphinx-build -W --keep-going -n -q -b html docs docs/_build
	@echo "Site: docs/_build/index.html"

figures: $(READY)
	rm -rf runs/demo
	$(VENV)/bin/rapo demo --json results/demo.json
	cp runs/demo/report/figures/hopper-robustness.png docs/demo.png
	$(VENV)/bin/python -c "from PIL import Image; Image.open('runs/demo/heavier.png').quantize(48).save('docs/demo-heavier.png')"
	$(VENV)/bin/python docs/picture.py runs/demo/report/index.html docs/report.png
	rm -rf runs/worked-example
	$(VENV)/bin/python docs/worked_example.py runs/worked-example
	$(VENV)/bin/python docs/picture.py runs/worked-example/report/index.html docs/cart-report.png
	$(VENV)/bin/rapo eval tracking results/quadrotor-payload.csv --out runs/quadrotor-figures
	cp runs/quadrotor-figures/quadrotor-over-time.png docs/quadrotor.png
	$(VENV)/bin/rapo theory --out runs/theory
	cp runs/theory/tables/statements.csv results/theory.csv
	$(VENV)/bin/python docs/picture.py runs/theory/index.html docs/theory.png

evidence: $(READY)
	$(VENV)/bin/python -m evidence

# Days on two cores; whatever stops it, the same command goes on. `rapo grid grids/NAME.toml --status` says how far it is.
evidence-runs: $(READY)
	$(VENV)/bin/python -m evidence.runs

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "rapo needs Python 3.11 or newer, and $(PYTHON) is " + sys.version.split()[0] + ": try make PYTHON=python3.11")'
	@echo "Installing rapo into $(VENV) (once, a minute or two)"
	$(PYTHON) -m venv $(VENV)
	PIP_CONSTRAINT=constraints.txt $(VENV)/bin/python -m pip install --disable-pip-version-check --quiet --editable '.[dev]'
	@touch $@

.venv-sb3/.ready: pyproject.toml constraints.txt
	@echo "Installing rapo, Stable-Baselines3 and torch into .venv-sb3 (once, some minutes)"
	$(PYTHON) -m venv .venv-sb3
	PIP_CONSTRAINT=constraints.txt .venv-sb3/bin/python -m pip install --disable-pip-version-check --quiet --editable '.[sb3]'
	@touch $@

clean:
	rm -rf .venv .venv-*
