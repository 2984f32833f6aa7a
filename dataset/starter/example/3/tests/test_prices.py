from shop.prices import discount, show, total


def test_discount():
    assert discount(10, 20) == 8


def test_total():
    assert total([(2, 3), (1, 4)]) == 10


def test_show():
    assert show(12.25) == "12.25 EUR"


def test_discount_never_goes_below_zero():
    assert discount(10, 120) == 0


def test_an_empty_cart_costs_nothing():
    assert total([]) == 0


def test_prices_have_two_digits():
    assert show(3.5) == "3.50 EUR"
