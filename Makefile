# One word per task; the same words in CI.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready

.PHONY: setup tools demo test golden fuzz test-clients check bench bench-large torture torture-queue torture-long clean

setup: $(STAMP)

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group dev --editable .
	$(BIN)/python -m compileall -q src
	touch $@

# Browser, shells and network tools that some tests need; without them these tests are skipped.
tools:
	$(PYTHON) tests/programs.py

demo: setup
	$(BIN)/python demo/demo.py

test: setup
	$(BIN)/python -m pytest -q -n 2

# Write the golden files anew; read the difference before it is committed.
golden: setup
	WRITE_GOLDEN=1 $(BIN)/python -m pytest -q tests/test_golden.py

# Looks for new examples, 500 for each property; the suite tries the same ones each time.
fuzz: setup
	$(BIN)/python -m pytest -q -n 2 -m hypothesis --hypothesis-profile=fuzz -o faulthandler_timeout=0
	$(BIN)/python -m pytest -q tests/server/test_described.py tests/server/test_odd_requests.py --hypothesis-profile=fuzz -o faulthandler_timeout=0

# The real clients, in a network of their own; the first run fetches them into .cache.
test-clients: setup
	PYTHONPATH=tests $(BIN)/python -m real_clients

check: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/test_layout.py tests/test_docs.py

bench: setup
	$(BIN)/python bench/retrieval.py
	$(BIN)/python bench/public_sets.py
	$(BIN)/python bench/redaction.py
	$(BIN)/python bench/speed.py
	$(BIN)/python bench/hooks.py
	$(BIN)/python bench/lines.py
	$(BIN)/python bench/proportion.py
	$(BIN)/python bench/mcp_start.py
	$(BIN)/python bench/openings.py
	$(BIN)/python bench/openings.py --threads 5
	$(BIN)/python bench/doors.py
	$(BIN)/python bench/team.py
	$(BIN)/python bench/team_writes.py
	$(BIN)/python bench/freshness.py
	$(BIN)/python bench/freshness.py --cost 1000
	$(BIN)/python bench/learns.py --seeds 3
	$(BIN)/python bench/extraction.py
	$(BIN)/python bench/signals.py
	$(BIN)/python bench/conversations.py
	$(BIN)/python bench/year.py
	$(BIN)/python bench/notes.py
	$(BIN)/python bench/graph.py
	$(BIN)/python bench/graph.py --read
	$(BIN)/python bench/graph.py --cost
	$(BIN)/python bench/layout.py

bench-large: setup
	$(BIN)/python bench/large.py
	$(BIN)/python bench/crowd.py
	$(BIN)/python bench/million.py
	$(BIN)/python bench/approximate.py
	$(BIN)/python bench/swarm.py

torture: setup
	$(BIN)/python torture/kill.py --writers 8 --kills 60
	$(BIN)/python torture/kill.py --writers 8 --kills 20 --postgres
	$(BIN)/python torture/serve.py --kills 6
	$(BIN)/python torture/serve.py --kills 4 --postgres
	$(BIN)/python torture/serve.py --restarts 3 --postgres
	$(BIN)/python torture/sessions.py --sessions 24 --kills 6
	$(BIN)/python torture/catching.py --stride 20
	$(BIN)/python torture/reflect.py --stride 50

# 10,000 jobs: workers killed or stopped every 100 ms, poison among their jobs.
torture-queue: setup
	$(BIN)/python torture/jobs.py
	$(BIN)/python torture/jobs.py --postgres --stops 0
	$(BIN)/python torture/jobs.py --postgres --messages 2000

torture-long: setup
	$(BIN)/python torture/kill.py --writers 8 --kills 400
	$(BIN)/python torture/kill.py --writers 8 --kills 400 --postgres
	$(BIN)/python torture/serve.py --kills 50
	$(BIN)/python torture/serve.py --kills 50 --postgres
	$(BIN)/python torture/serve.py --restarts 20 --postgres
	$(BIN)/python torture/serve.py --cuts 20
	$(BIN)/python torture/sessions.py
	$(BIN)/python torture/catching.py
	$(BIN)/python torture/reflect.py
	$(BIN)/python torture/reflect.py --stride 10 --postgres

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis dist build
