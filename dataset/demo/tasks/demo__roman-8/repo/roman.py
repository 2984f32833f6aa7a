"""Roman numerals from 1 to 3999."""

_VALUES = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}
_PARTS = [
    (1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"),
    (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"),
]


def to_roman(number):
    """Return number as a Roman numeral; ValueError unless it is 1 to 3999."""
    if not 0 < number < 4000:
        raise ValueError("not between 1 and 3999: %d" % number)
    out = ""
    for value, part in _PARTS:
        while number >= value:
            out += part
            number -= value
    return out


def from_roman(text):
    """Return the value of a Roman numeral."""
    total = 0
    before = 0
    for letter in reversed(text):
        value = _VALUES[letter]
        total += value if value >= before else -value
        before = max(before, value)
    return total
