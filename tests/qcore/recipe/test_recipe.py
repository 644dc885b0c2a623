"""Recipes: read, written, refused where they mean nothing."""

import tomllib

import pytest

import qcore
from qcore import errors
from qcore.recipe import Recipe, Rule

FULL = """
version = 1
default = "q4f/u32/b32:f16"
ties = ["qkv"]

[settings]
calibration = "mse"
on_invalid = "float"

[made]
objective = "relative"
budget = 4.5

[[rule]]
match = "*.norm*"
action = "keep"

[[rule]]
regex = '(.*)\\.down_proj\\.weight'
scheme = "q8s/native/t:f32"
transpose = true
rename = '\\1.down.weight'
calibration = "minmax"
note = "14.2 dB at 4 bit"
"""


def test_a_recipe_says_the_same_after_it_is_written_and_read():
    recipe = Recipe.loads(FULL)
    assert Recipe.loads(recipe.dumps()) == recipe
    assert Recipe.loads(recipe.dumps()).dumps() == recipe.dumps()
    assert Recipe.loads(recipe.dumps()).digest == recipe.digest


def test_what_is_written_is_the_documented_form():
    said = tomllib.loads(Recipe.loads(FULL).dumps())
    assert said == tomllib.loads(FULL)
    assert Recipe.loads(FULL).dumps().count("[[rule]]") == 2


def test_names_that_toml_must_escape_survive():
    rule = Rule.of(match='a"b\\c\n*', note="Ω ❤ \x07", scheme="int8")
    recipe = Recipe(rules=(rule,))
    assert Recipe.loads(recipe.dumps()) == recipe


def test_a_saved_recipe_is_not_overwritten_without_being_asked_to(tmp_path):
    path = tmp_path / "r.toml"
    recipe = Recipe.loads(FULL)
    recipe.save(path)
    assert Recipe.load(path) == recipe
    with pytest.raises(errors.FormatError) as caught:
        recipe.save(path)
    assert caught.value.code == "file-exists"
    recipe.save(path, overwrite=True)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("version = ", "TOML"),
        ("default = 'int8'", "version = 1"),
        ("version = 2", "version = 1"),
        ("version = true", "version = 1"),
        ("version = 1\nrules = []", "keys among"),
        ("version = 1\nrule = 3", "[[rule]]"),
        ("version = 1\ndefault = 4", "default"),
        ("version = 1\nties = ['all']", "ties among qkv, gate-up"),
        ("version = 1\nties = 'qkv'", "a list of texts"),
        ("version = 1\nsettings = 1", "[settings]"),
        ("version = 1\n[settings]\nbits = '4'", "settings"),
        ("version = 1\n[settings]\non_invalid = 'skip'", "error or float"),
        ("version = 1\n[[rule]]\nscheme = 'int8'", "rule 1: expected match or regex, got neither"),
        ("version = 1\n[[rule]]\nmatch = '*'\nregex = '.*'", "rule 1: expected match or regex, got both"),
        ("version = 1\n[[rule]]\nmatch = '*'\nsheme = 'int8'", "'sheme'"),
        ("version = 1\n[[rule]]\nmatch = '*'\naction = 'drop'", "'drop'"),
        ("version = 1\n[[rule]]\nmatch = '*'\naction = 'keep'\nscheme = 'int8'", "beside keep"),
        ("version = 1\n[[rule]]\nmatch = '*'\nscheme = 8", "a text for scheme"),
        ("version = 1\n[[rule]]\nmatch = '*'\ntranspose = 'yes'\nscheme = 'int8'", "true or false"),
        ("version = 1\n[[rule]]\nregex = '('\nscheme = 'int8'", "a regular expression"),
        ("version = 1\n[[rule]]\nmatch = '*'", "rule 1: expected a scheme"),
    ],
)
def test_a_text_that_is_no_recipe_is_refused_with_its_place(text, part):
    with pytest.raises(errors.InvalidSchemeError) as caught:
        Recipe.loads(text)
    assert caught.value.code == "recipe-text"
    assert part in str(caught.value)


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        ("version = 1\ndefault = 'q4x'", "scheme-text", "the recipe, default"),
        ("version = 1\n[[rule]]\nmatch='*'\nscheme='int8'\ncalibration='best'", "unknown-name", "the recipe, rule 1"),
    ],
)
def test_words_that_mean_nothing_are_refused_with_their_rule(text, code, place):
    with pytest.raises(errors.InvalidSchemeError) as caught:
        Recipe.loads(text)
    assert (caught.value.code, caught.value.tensor) == (code, place)


def test_every_preset_can_be_a_recipe():
    for name in qcore.PRESETS:
        assert Recipe.loads(Recipe.of(name).dumps()).default == name
