# Every target first sets up what it needs of .venv: Python >= 3.11, make and git are all that is needed.
PYTHON ?= python3
RUN := .venv/bin/python
unexport PYTHONDONTWRITEBYTECODE  # where it is set, every process would compile anew whatever it imports

DATA ?= census
SIZE ?= states
EPSILON ?= 1
SEED ?= compare
PROFILE ?= quick
ROWS ?= 100000000

.PHONY: compare reproduce test test-slow test-all lint bench bench-release bench-nation lock agreement notebook docs docs-serve wheel clean help

help:  ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

compare: .venv/compare.ready  ## all methods side by side; SIZE=full, DATA=taxi|census2000|flights, EPSILON=0.1, SEED=text, SIZES_PER_LEVEL=20,10,5
	$(RUN) -m pgsr.experiments compare --data $(DATA) --size $(SIZE) --epsilon $(EPSILON) --seed $(SEED)$(if $(SIZES_PER_LEVEL), --sizes-per-level $(SIZES_PER_LEVEL))

# An experiment with failed cells does not keep the others from running; the report names them. Ctrl-C ends all of it.
reproduce: .venv/experiments.ready .venv/synthesis.ready  ## all experiments and their report in results/report; PROFILE=smoke|reduced|paper, PGSR_DATA for real data
	@for id in $$($(RUN) -c "from pgsr.experiments.registry import EXPERIMENTS as all; print(*(e.id for e in all if '$(PROFILE)' in e.profiles))"); do \
	    $(RUN) -m pgsr.experiments run $$id --profile $(PROFILE) || { code=$$?; [ $$code -ne 130 ] || exit $$code; \
	    echo "$$id did not finish, see above and the report; the same command goes on from there"; }; \
	done
	@$(RUN) -m pgsr.experiments report --profile $(PROFILE)

test: .venv/test.ready  ## what a change can break, the same tests at every commit (two to ten minutes)
	$(RUN) -m pytest -n auto --dist loadfile -m "not slow and not full"

test-slow: .venv/test.ready  ## notebooks, the site, the wheel, experiments, processes, solvers against changed problems (ten minutes)
	$(RUN) -m pytest -n auto --dist loadfile -m "slow and not full"

test-all: .venv/test.ready  ## all tests at full counts, folder by folder; goes on after a stop (hours); PGSR_SEED=7 for other instances
	$(RUN) tests/shared/in_parts.py

lint: .venv/lint.ready  ## style, types and the layers
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m pyright
	.venv/bin/lint-imports

bench: .venv/experiments.ready  ## speed and memory at full size, each beside its peer (about half an hour; --quick: four minutes)
	$(RUN) -m pgsr.experiments bench

bench-release: .venv/compare.ready  ## release and check made tables of ROWS persons (default 100000000), end to end
	$(RUN) -m pgsr.experiments bench-release --rows $(ROWS)

bench-nation: .venv/compare.ready  ## generated nations of 60,000 to 6 million blocks, noise to M_H, M_c^dp, matching (hours)
	$(RUN) -m pgsr.experiments bench-nation

agreement: .venv/experiments.ready  ## every method on every problem it supports, 200 random instances each (hours; python -m pgsr.experiments agreement --instances 5 is shorter)
	$(RUN) -m pgsr.experiments agreement

wheel: .venv/test.ready  ## build the wheel into dist/, and run README's example from one outside the repository
	$(RUN) -m pip wheel . --no-deps --no-build-isolation --no-index --quiet --wheel-dir dist
	$(RUN) -m pytest tests/house/test_house_wheel.py

docs: .venv/docs.ready  ## build the documentation as a site in results/site; the first time runs the notebooks (minutes)
	@NO_MKDOCS_2_WARNING=1 $(RUN) -m mkdocs build
	@echo "the documentation is in results/site/index.html; make docs-serve shows it with a search box"

docs-serve: .venv/docs.ready  ## show the documentation at http://127.0.0.1:8000, and build it anew when a page changes
	NO_MKDOCS_2_WARNING=1 $(RUN) -m mkdocs serve

notebook: .venv/notebooks.ready  ## open the first notebook
	.venv/bin/jupyter lab notebooks/01_one_region.ipynb

lock: .venv/compare.ready  ## resolve the locks in requirements/ anew
	$(RUN) requirements/lock.py

clean:  ## remove the virtual environment, the results and the wheel
	rm -rf .venv results dist

.venv/%.ready: requirements/%.lock pyproject.toml
	@$(PYTHON) requirements/install.py $*
