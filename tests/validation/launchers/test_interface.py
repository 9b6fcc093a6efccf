import pytest

from investigator.errors import UsageError
from investigator.validation.launchers.interface import Destination, Where


@pytest.mark.parametrize(
    ("text", "destination"),
    [
        ("local", Destination(where=Where.LOCAL)),
        ("cpu", Destination(where=Where.CPU)),
        ("cpu-engine", Destination(where=Where.CPU_ENGINE)),
        ("ssh://me@gpu", Destination(where=Where.SSH, host="me@gpu")),
        ("ssh://gpu:2222", Destination(where=Where.SSH, host="gpu", port=2222)),
        (
            "ssh://me@gpu?python=/opt/vllm/bin/python",
            Destination(where=Where.SSH, host="me@gpu", python="/opt/vllm/bin/python"),
        ),
        ("slurm", Destination(where=Where.SLURM)),
        (
            "slurm://h200?gpus_per_node=1",
            Destination(where=Where.SLURM, host="h200", options=(("gpus_per_node", "1"),)),
        ),
        ("ray://head:8265", Destination(where=Where.RAY, host="head:8265", port=8265)),
    ],
)
def test_places_read_as_people_write_them(text: str, destination: Destination) -> None:
    assert Destination.parse(text) == destination


@pytest.mark.parametrize(
    "text",
    [
        "",
        "gpu",
        "ssh://",
        "ssh",
        "ssh://-oProxyCommand=harm",
        "ssh://gpu:port",
        "ray://",
        "cpu://x",
        "http://x",
    ],
)
def test_other_places_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="cannot read --on"):
        Destination.parse(text)
