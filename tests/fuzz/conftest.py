"""How long fuzzers run: ``pytest tests/fuzz --fuzz-rounds 2000``."""

import warnings

import numpy as np
import pytest

ROUNDS = 20


def pytest_addoption(parser):
    parser.addoption("--fuzz-rounds", type=int, default=ROUNDS, help="rounds of each fuzzer")


@pytest.fixture(scope="session")
def rounds(request):
    # Without a default of its own this would fail in a run that has found this folder late.
    return request.config.getoption("--fuzz-rounds", default=ROUNDS)


@pytest.fixture(scope="session")
def write_inputs():
    """Writes what commands read into a folder: data, new rows, a picture and a model."""

    def write(folder, shape, side):
        from PIL import Image

        import closeknit as ck

        rng = np.random.default_rng(0)
        X = rng.normal(size=shape)
        np.save(folder / "data.npy", X)
        np.save(folder / "new.npy", X[: len(X) // 3] + 0.01)
        picture = rng.integers(0, 256, (side, side, 3), dtype=np.uint8)
        Image.fromarray(picture).save(folder / "picture.png")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ck.exceptions.CloseknitWarning)
            model = ck.TSNE(perplexity=5, max_iter=5, random_state=0).fit(X)
        ck.io.save(model, folder / "old.model")
        return folder

    return write
