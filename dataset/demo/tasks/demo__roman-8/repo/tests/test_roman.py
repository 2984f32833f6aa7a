from roman import from_roman, to_roman


def fails(function, argument):
    try:
        function(argument)
    except ValueError:
        return True
    return False


def test_to_roman():
    assert to_roman(1994) == "MCMXCIV"


def test_to_roman_refuses_zero():
    assert fails(to_roman, 0)


def test_from_roman():
    assert from_roman("MCMXCIV") == 1994


def test_round_trip():
    for n in range(1, 4000):
        assert from_roman(to_roman(n)) == n, n
