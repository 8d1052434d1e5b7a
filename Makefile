# The five commands of CONTRIBUTING.md, in the active virtual environment.
.PHONY: install test lint all docs

install:
	pip install -e '.[dev]'

test:
	pytest

lint:
	ruff check
	ruff format --check
	mypy
	pyright
	lint-imports

# In a fresh virtual environment.
all:
	bash .ci/run

docs:
	sphinx-build -W docs build/site
