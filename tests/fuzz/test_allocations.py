"""Every allocation of the compiled core failing once: MemoryError, and the next call works.

A small library, compiled here and loaded before all others, stands in for ``operator new`` and
lets the allocation with a given number fail if it is the core's. This file is also the program that
runs with it.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import warnings

import numpy as np
import pytest

ALLOCATOR = r"""
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <new>

static std::atomic<long> countdown{-1}, seen{0};

extern "C" void fail_at(long n) { seen = 0; countdown = n; }
extern "C" long allocations() { return seen; }

static void* allocate(std::size_t size, std::size_t alignment, void* caller) {
  Dl_info info;
  if (countdown >= 0 && dladdr(caller, &info) && info.dli_fname &&
      std::strstr(info.dli_fname, "/_core.") && seen++ == countdown)
    throw std::bad_alloc();
  size = (size + alignment) / alignment * alignment;
  if (void* found = std::aligned_alloc(alignment, size)) return found;
  throw std::bad_alloc();
}

void* operator new(std::size_t n) { return allocate(n, 16, __builtin_return_address(0)); }
void* operator new[](std::size_t n) { return allocate(n, 16, __builtin_return_address(0)); }
void* operator new(std::size_t n, std::align_val_t a) {
  return allocate(n, static_cast<std::size_t>(a), __builtin_return_address(0));
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
"""


def calls():
    """What uses every part of the core, on little data."""
    from scipy.sparse import csr_matrix

    import closeknit as ck
    from closeknit import graphs, kernels, linalg, neighbors, repulsion

    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(300, 20)), 5.0 * rng.normal(size=(3000, 2))
    d = np.sort(rng.random((500, 40)), axis=1)
    P = ck.EntropicAffinities(5.0).fit_transform(X)
    W = graphs.symmetrize(P)
    model = ck.TSNE(perplexity=5.0, max_iter=3, random_state=0).fit(X)

    def found(index, data):
        return lambda: index(n_jobs=2).fit(data).self_neighbors(7).sq_distances

    def sums(kind, Y):
        return lambda: kind(n_jobs=2).sums(Y, kernels.STUDENT).force

    def solved():
        L = graphs.laplacian(W) + 0.1 * csr_matrix(np.eye(300))
        return linalg.ApproximateCholesky(-L, 0.1 * np.ones(300)).solve(X)

    return {
        "search by sketches": found(neighbors.ExactIndex, X),
        "search by a tree": found(neighbors.ExactIndex, X[:, :3]),
        "approximate search": found(neighbors.ApproximateIndex, X),
        "search in sparse data": found(neighbors.ExactIndex, csr_matrix(np.maximum(X, 0.0))),
        "bandwidths": lambda: ck.solve_bandwidths(d, 9.0, n_jobs=2).betas,
        "bandwidths in an order": lambda: ck.solve_bandwidths(d, 9.0, order="density").betas,
        "bounds": lambda: ck.bandwidth_bounds(d, 9.0)[0],
        "symmetrize": lambda: graphs.symmetrize(P).data,
        "strongest": lambda: linalg.thin(W, 3).data,
        "permuted": lambda: linalg.permuted(W, rng.permutation(300)).nnz,
        "exact sums": sums(repulsion.ExactRepulsion, Y[:500]),
        "grid": sums(repulsion.GridRepulsion, Y),
        "resistances": lambda: graphs.effective_resistances(W, random_state=0).data,
        "eigenvectors": lambda: linalg.graph_eigenvectors(W, 3).vectors,
        "map": lambda: ck.TSNE(perplexity=5.0, max_iter=3, random_state=0).fit(X).embedding_,
        "new points": lambda: model.transform(X[:40] + 0.1),
    }


def attack(n_failures):
    """Let allocations of each call fail, all or a sample; print how many did."""
    warnings.simplefilter("ignore")
    library = ctypes.CDLL(None)
    rng = np.random.default_rng(0)
    for name, call in calls().items():
        expected = np.asarray(call()).tobytes()
        library.fail_at(10**9)
        call()
        total, failed = library.allocations(), 0
        library.fail_at(-1)
        # All of the quickest: one in a conversion from Python once ended the process.
        chosen = rng.permutation(total)[: total if name == "bandwidths" else n_failures]
        for number in sorted(chosen.tolist()):
            print(name, number, end=" ", flush=True)
            library.fail_at(number)
            try:
                call()
            except MemoryError:
                failed += 1
            finally:
                library.fail_at(-1)
            assert np.asarray(call()).tobytes() == expected
            print("ok")
        print(f"{name}: {failed} of {len(chosen)} failed, of {total}")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="libraries are preloaded on Linux")
@pytest.mark.skipif("LD_PRELOAD" in os.environ, reason="a sanitizer has its own operator new")
@pytest.mark.skipif(shutil.which("c++") is None, reason="needs a compiler")
def test_allocations_that_fail(tmp_path, rounds):
    source, library = tmp_path / "allocator.cpp", tmp_path / "allocator.so"
    source.write_text(ALLOCATOR)
    subprocess.run(
        ["c++", "-std=c++17", "-O1", "-shared", "-fPIC", source, "-o", library, "-ldl"], check=True
    )
    n_failures = 4 if rounds <= 20 else rounds
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", __file__, str(n_failures)],
        env={**os.environ, "LD_PRELOAD": str(library)},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = done.stdout.splitlines()
    assert done.returncode == 0, (lines[-1:], done.stderr[-3000:])
    summaries = [line for line in lines if ": " in line]
    print("\n".join(summaries))
    assert len(summaries) == 16


if __name__ == "__main__":
    attack(int(sys.argv[1]))
