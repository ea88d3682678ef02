"""Kernels compiled for one instruction set share no code with the rest of the module.

Of an inline function that two files define the linker keeps one copy for both. If that were one
compiled for AVX2, older processors would meet an instruction that they do not have. Compiled
without optimisation, so that nothing is inlined, the object files show every function that could be
shared.
"""

import os
import platform
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[2] / "cpp"
KERNELS = sorted(SOURCES.glob("*/kernels_*.cpp"))
COMPILER = shutil.which(os.environ.get("CXX", "c++"))
# The address of the routine that unwinds the stack: data, and the same in every file.
HARMLESS = {"DW.ref.__gxx_personality_v0"}

pytestmark = [
    pytest.mark.skipif(shutil.which("nm") is None, reason="nm is not installed"),
    pytest.mark.skipif(COMPILER is None, reason="no C++ compiler is installed"),
    pytest.mark.skipif(
        platform.machine() not in ("x86_64", "AMD64"), reason="only x86 has more than one set"
    ),
]


def shared_symbols(source, folder):
    """Weak symbols of a file, which the linker may take from here for everyone."""
    compiled = folder / f"{source.stem}.o"
    flags = ["-std=c++17", "-O0", "-fPIC", "-mavx2", "-mfma", "-w"]
    definitions = ["-DCK_ISA=avx2", "-DCK_HAVE_AVX2", f"-I{SOURCES}"]
    command = [COMPILER, *flags, *definitions, "-c", source, "-o", compiled]
    subprocess.run(command, check=True, capture_output=True)
    listed = subprocess.run(["nm", "-C", compiled], check=True, capture_output=True, text=True)
    lines = (line.split(maxsplit=2) for line in listed.stdout.splitlines())
    return {fields[2] for fields in lines if len(fields) == 3 and fields[1] in "WwVvu"}


def test_there_are_kernels():
    assert len(KERNELS) >= 7


def test_weak_symbols_are_in_the_namespace_of_the_instruction_set(tmp_path):
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda source: shared_symbols(source, tmp_path), KERNELS))
    weak = set().union(*found) - HARMLESS
    assert weak, "templates of our own are weak; if there are none, nm was misread"
    assert {symbol for symbol in weak if "closeknit::avx2::" not in symbol} == set()
