"""How long fuzzers run: ``pytest tests/fuzz --fuzz-rounds 2000``."""

import pytest

ROUNDS = 20


def pytest_addoption(parser):
    parser.addoption("--fuzz-rounds", type=int, default=ROUNDS, help="rounds of each fuzzer")


@pytest.fixture(scope="session")
def rounds(request):
    # Without a default of its own this would fail in a run that has found this folder late.
    return request.config.getoption("--fuzz-rounds", default=ROUNDS)
