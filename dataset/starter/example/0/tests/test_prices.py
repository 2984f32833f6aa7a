from shop.prices import discount, show, total


def test_discount():
    assert discount(10, 20) == 8


def test_total():
    assert total([(2, 3), (1, 4)]) == 10


def test_show():
    assert show(12.25) == "12.25 EUR"
