"""The plain baseline: parse every Python file of a folder with tree-sitter, and nothing else.

python -m benchmarks.parse_tree FOLDER
"""

import sys
from pathlib import Path

import tree_sitter
import tree_sitter_python


def main(folder: str) -> None:
    """Read and parse; prints files and bytes."""
    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_python.language()))
    count = size = 0
    for path in sorted(Path(folder).rglob("*.py")):
        source = path.read_bytes()
        parser.parse(source)
        count, size = count + 1, size + len(source)
    print(f"{count} {size}")


if __name__ == "__main__":
    main(sys.argv[1])
