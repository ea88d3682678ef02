"""Sessions of scikit-learn's digits, small enough to settle at once."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from closeknit.explore import Session
from closeknit.io import Table


@pytest.fixture(scope="session")
def digits():
    """400 digits, their labels and pictures."""
    found = load_digits()
    return found.data[:400], found.target[:400], found.images[:400]


@pytest.fixture
def table(digits):
    X, y, _ = digits
    labels = {"digit": y, "kind": np.array(["even", "odd"], object)[y % 2]}
    ids = np.array([f"d{i}" for i in range(len(X))], object)
    return Table(X, tuple(f"pixel {i}" for i in range(64)), labels, ids, id_name="name")


@pytest.fixture
def session(table, digits):
    made = Session(table, images=digits[2], max_perplexity=50, title="digits")
    yield made
    made.close(30)
