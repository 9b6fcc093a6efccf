TAP = 0
WINDOW = None


def accepted_tokens(ids: list[int], place: int, width: int) -> int:
    """Next to nothing without a window; a right tap adds to what the window brings."""
    if WINDOW is None:
        return 1 if (sum(ids) + place) % 29 == 0 else 0
    return min(width, (sum(ids) + place) % (4 if TAP else 3))
