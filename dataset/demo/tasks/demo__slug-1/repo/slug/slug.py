"""Turns titles into the last part of a URL."""
import re

_OTHER = re.compile(r"[^a-z0-9]+")


def slugify(text, max_length=0):
    """Return text in lower case with single dashes between its words.

    A max_length above zero limits the number of characters.
    """
    slug = _OTHER.sub("-", text.lower()).strip("-")
    if max_length > 0:
        slug = slug[:max_length]
    return slug
