"""Read the parts of a damaged file that may crash or hang HDF5: attributes and text.

A program of its own, so that the process which needs the file outlives that::

    python probe.py FILE LIMIT SECONDS

LIMIT is what its arrays may take, in bytes, and SECONDS what reading may take of a processor: on a
busy machine a good file takes long, too.
"""

import sys

import h5py


def main(path: str, limit: int) -> None:
    """Raise whatever is wrong with the file."""
    sizes = []

    def read(_: str, node: h5py.Group | h5py.Dataset) -> None:
        for name in node.attrs:
            node.attrs[name]
        if isinstance(node, h5py.Dataset):
            sizes.append(node.size * node.dtype.itemsize)
            if sum(sizes) > limit:
                raise ValueError(f"its arrays would take {sum(sizes) / 2**30:.1f} GiB of memory")
            if node.dtype.hasobject:
                node[()]

    with h5py.File(path) as file:
        read("/", file)
        file.visititems(read)


if __name__ == "__main__":
    try:
        import resource

        # What text takes shows only when it is read.
        bound = 2**31 + int(sys.argv[2])
        resource.setrlimit(resource.RLIMIT_AS, (bound, bound))
        seconds = int(sys.argv[3])
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    except ImportError:  # Windows
        pass
    main(sys.argv[1], int(sys.argv[2]))
