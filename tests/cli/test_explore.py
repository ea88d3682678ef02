"""``closeknit explore``, as far as the address it prints."""

import json
import signal
import subprocess
import time

import httpx
import pytest


def first_lines(closeknit, *arguments):
    """Run it until it has printed where it serves, look there, and press Ctrl-C."""
    process = subprocess.Popen(
        closeknit.arguments("explore", *arguments, "--no-open"),
        cwd=closeknit.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        while (line := process.stdout.readline()) and not line.startswith("Exploring at"):
            pass
        address = line.split()[-1]
        deadline = time.monotonic() + 30
        while True:
            try:
                status = httpx.get(address).status_code
                break
            except httpx.ConnectError:
                assert time.monotonic() < deadline, process.stderr.read()
                time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
    return address, status, process.returncode, err


def test_a_table_is_served(closeknit, flowers):
    address, status, code, err = first_lines(closeknit, flowers)
    assert address.startswith("http://127.0.0.1:")
    assert (status, code, err) == (303, 0, "")


def test_a_model_is_served(closeknit, flowers):
    closeknit("embed", flowers, "--save-model", "flowers.closeknit").succeeds()
    _, status, code, err = first_lines(closeknit, "flowers.closeknit")
    assert (status, code, err) == (303, 0, "")


def test_another_address_is_warned_of(closeknit, flowers):
    *_, code, err = first_lines(closeknit, flowers, "--host", "127.0.0.2")
    assert code == 0
    assert err.startswith("closeknit: warning: 127.0.0.2 can be reached from other machines")


@pytest.fixture
def announced(monkeypatch):
    """Instead of a page that is served until Ctrl-C, one that is only announced."""

    def serve(session, *, announce, **options):
        announce("http://127.0.0.1:8000/?token=abc")

    monkeypatch.setattr("closeknit.explore.serve", serve)


def test_it_says_what_was_read(announced, in_process, flowers):
    out = in_process("explore", flowers).stdout
    for words in ("points", "features", "read with", "30, at most", "euclidean"):
        assert words in out
    assert out.endswith("Exploring at http://127.0.0.1:8000/?token=abc\nCtrl-C ends it.\n")


def test_json_is_one_object_with_the_address(announced, in_process, flowers):
    found = json.loads(in_process("explore", flowers, "--json").stdout)
    assert found["address"] == "http://127.0.0.1:8000/?token=abc"
    assert found["n_samples"] == 150


def test_quiet_still_says_where(announced, in_process, flowers):
    out = in_process("explore", flowers, "--quiet").stdout
    assert out == "Exploring at http://127.0.0.1:8000/?token=abc\nCtrl-C ends it.\n"


def test_a_perplexity_that_is_not_offered_is_warned_of(announced, in_process, flowers):
    outcome = in_process("explore", flowers, "--perplexity", "200")
    assert "--perplexity 200 is more than the page offers here, 49" in outcome.stderr
    assert not in_process("explore", flowers, "--perplexity", "40").stderr


@pytest.mark.parametrize(
    ("arguments", "saying"),
    [
        (["missing.csv"], "there is no such file"),
        (["flowers.csv", "--perplexity", "10,20"], "has one perplexity"),
        (["flowers.csv", "--perplexity", "0.5"], "--perplexity 0.5 must be at least 1"),
        (["flowers.csv", "--metric", "euclid"], "--metric euclid is unknown; choose one of"),
        (["flowers.csv", "--no-open", "--host", ""], "is no address; use 127.0.0.1"),
    ],
)
def test_errors_are_one_line(in_process, flowers, arguments, saying):
    outcome = in_process("explore", *arguments)
    assert outcome.code != 0
    assert saying in outcome.line


def test_a_missing_package_is_one_line(closeknit, flowers, without):
    outcome = closeknit("explore", flowers, "--no-open", before=without("starlette"))
    outcome.ends(1, saying='pip install "closeknit[explore]"')
