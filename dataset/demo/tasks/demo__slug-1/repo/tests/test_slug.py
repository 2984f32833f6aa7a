from slug import slugify


def test_words_are_joined_by_dashes():
    assert slugify("Hello World") == "hello-world"


def test_runs_of_other_characters_become_one_dash():
    assert slugify("a  -- b!?c") == "a-b-c"


def test_outer_dashes_are_dropped():
    assert slugify("  (draft) ") == "draft"


def test_no_limit_keeps_everything():
    assert len(slugify("x" * 300)) == 300
