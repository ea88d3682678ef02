"""``closeknit embed`` on a Dask cluster."""

import pytest

pytest.importorskip("distributed")


@pytest.mark.parametrize(
    ("options", "saying"),
    [
        (["--workers", "2", "--cluster", "tcp://here:1"], "exclude each other"),
        (["--workers", "2", "--method", "sne"], "does not run on a cluster"),
        (["--workers", "2", "--save-model", "m.closeknit"], "--save-model has no use here"),
    ],
)
def test_what_a_cluster_does_not_do_is_said(tmp_path, in_process, options, saying):
    (tmp_path / "a.csv").write_text("a,b,c\n" + "1,2,3\n4,5,7\n" * 20)
    in_process("embed", "a.csv", *options).fails(2, saying=saying)
