"""RECORD is read by the packaging specification, and doubted where it breaks it."""

import pytest

from investigator.errors import IntegrityError
from investigator.sources.record_file import RecordRow, parse_record

HELLO = "WJG5L--0Vy3wZjFNJ7D_ucHZ_F-BJVkg"  # not a whole sha256
EMPTY = "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"
EMPTY_HEX = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"  # sha256sum /dev/null


def test_rows() -> None:
    data = f'a.py,sha256={EMPTY},0\n"b,c.py",sha256={EMPTY},0\r\n\nx.dist-info/RECORD,,\n'.encode()

    assert parse_record(data) == {
        "a.py": RecordRow(EMPTY_HEX, 0),
        "b,c.py": RecordRow(EMPTY_HEX, 0),
        "x.dist-info/RECORD": RecordRow(None, None),
    }


def test_another_hash_counts_as_none() -> None:
    assert parse_record(b"a.py,md5=abc,3\n") == {"a.py": RecordRow(None, 3)}


@pytest.mark.parametrize(
    "text",
    [
        f"a.py,sha256={HELLO},1\n",
        "a.py,sha256=!!!!,1\n",
        "a.py\n",
        "a.py,,,\n",
        "a.py,,\na.py,,\n",
        'a.py,"sha256\n',
        "\xff",
    ],
)
def test_a_record_that_is_none(text: str) -> None:
    with pytest.raises(IntegrityError, match="RECORD cannot be read"):
        parse_record(text.encode("latin-1"))
