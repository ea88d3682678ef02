import numpy as np
import pytest

from closeknit.cli.segment import mean_colors


@pytest.fixture
def picture(tmp_path):
    """A red square on noisy blue."""
    from PIL import Image

    pixels = np.zeros((20, 24, 3), dtype=np.uint8)
    pixels[..., 2] = np.random.default_rng(0).integers(190, 210, size=(20, 24))
    pixels[5:15, 8:18] = (200, 0, 0)
    path = tmp_path / "square.png"
    Image.fromarray(pixels).save(path)
    return path


def test_a_picture_in_mean_colours(closeknit, picture, tmp_path):
    from PIL import Image

    options = ("-o", "parts.png", "--segments", 2, "-p", 10, "--json")
    summary = closeknit("segment", picture, *options).summary
    assert (summary["n_segments"], summary["sizes"]) == (2, [380, 100])
    assert (summary["height"], summary["width"]) == (20, 24)
    parts = np.asarray(Image.open(tmp_path / "parts.png"))
    assert (parts[5:15, 8:18] == (200, 0, 0)).all()
    assert len(np.unique(parts.reshape(-1, 3), axis=0)) == 2


def test_the_name_of_the_output(in_process, picture, tmp_path):
    summary = in_process("segment", picture, "-k", 2, "-p", 10, "--json").summary
    assert summary["output"] == f"{picture.stem}-segments.png"
    assert (tmp_path / summary["output"]).exists()


def test_numbers_of_segments(in_process, picture, tmp_path):
    in_process("segment", picture, "-o", "parts.npy", "-k", 2, "-p", 10, "-q").succeeds()
    labels = np.load(tmp_path / "parts.npy")
    assert labels.shape == (20, 24)
    assert len(set(labels[5:15, 8:18].ravel())) == 1


def test_mean_shift(in_process, picture):
    options = ("-o", "parts.npy", "-m", "meanshift", "-p", 30, "--json")
    assert in_process("segment", picture, *options).summary["n_segments"] >= 2


def test_quiet(closeknit, picture):
    outcome = closeknit("segment", picture, "-o", "parts.png", "-k", 2, "-q").succeeds()
    assert (outcome.stdout, outcome.stderr) == ("", "")


@pytest.mark.parametrize(
    ("arguments", "code", "saying"),
    [
        (["-o", "square.png", "-k", "2"], 2, "would overwrite the input"),
        (["-o", "parts.jpg", "-k", "2"], 1, "its ending is unknown; use one of .png, .npy"),
        (["-o", "parts.png"], 2, "needs the number of segments; pass for example --segments 5"),
        (["-o", "parts.png", "-m", "meanshift", "-k", "2"], 2, "--segments has no use"),
    ],
)
def test_refusals(closeknit, in_process, picture, arguments, code, saying):
    in_process("segment", picture, *arguments).fails(code, saying=saying)
    assert closeknit.files() == ["square.png"]


def test_what_is_not_a_picture(in_process, flowers, tmp_path):
    outcome = in_process("segment", flowers, "-o", "parts.png", "-k", 2)
    outcome.fails(2, saying="is not a picture")
    outcome = in_process("segment", "absent.png", "-o", "parts.png", "-k", 2)
    outcome.fails(1, saying="there is no such file")
    (tmp_path / "broken.png").write_text("no pixels")
    outcome = in_process("segment", "broken.png", "-o", "parts.png", "-k", 2)
    outcome.fails(1, saying="cannot read broken.png")


def test_ctrl_c_and_a_full_disk(closeknit, picture, full_disk):
    before = """
import closeknit.apps
def segment_image(*args, **options):
    signal.raise_signal(signal.SIGINT)
closeknit.apps.segment_image = segment_image
"""
    outcome = closeknit("segment", picture, "-o", "parts.png", "-k", 2, before=before)
    outcome.fails(130, saying="interrupted")
    assert closeknit.files() == ["square.png"]
    outcome = closeknit("segment", picture, "-k", 2, "-o", full_disk("parts.npy"))
    outcome.fails(1, saying="No space left on device")


def test_ctrl_c_keeps_the_segments_found(closeknit, picture, tmp_path, interrupted_ascent):
    """Pixels that are not there yet are in no segment."""
    arguments = ("-o", "parts.npy", "-m", "meanshift", "--perplexity", 20)
    outcome = closeknit("segment", picture, *arguments, before=interrupted_ascent)
    assert outcome.code == 130
    assert outcome.stderr.endswith("interrupted; the segments found so far are in parts.npy\n")
    labels = np.load(tmp_path / "parts.npy")
    assert 0 < (labels >= 0).sum() < labels.size


def test_mean_colors_against_a_loop():
    rng = np.random.default_rng(0)
    image, labels = rng.random((6, 7, 3)), rng.integers(-1, 4, size=(6, 7))
    expected = image.copy()
    for label in range(4):
        expected[labels == label] = image[labels == label].mean(axis=0)
    np.testing.assert_allclose(mean_colors(image, labels), expected, rtol=1e-14)
