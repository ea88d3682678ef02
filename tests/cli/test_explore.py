"""``closeknit explore``, as far as the address it prints."""

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
        address = process.stdout.readline().split()[-1]
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


@pytest.mark.parametrize(
    ("arguments", "saying"),
    [
        (["missing.csv"], "there is no such file"),
        (["flowers.csv", "--perplexity", "10,20"], "has one perplexity"),
        (["flowers.csv", "--perplexity", "0.5"], "must lie between"),
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
