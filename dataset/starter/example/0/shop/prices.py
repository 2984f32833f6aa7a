"""Prices of a shop, in euros."""


def discount(price, percent):
    """Return price less percent of it."""
    return price - price * percent / 100


def total(cart):
    """Return what the (price, count) pairs of a cart cost together."""
    price, count = cart[0]
    result = price * count
    for price, count in cart[1:]:
        result += price * count
    return result


def show(price):
    """Return price as text."""
    return f"{price} EUR"
