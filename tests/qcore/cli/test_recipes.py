"""``--recipe`` on check and quantize."""

import json

import numpy as np
import pytest

import qcore
from qcore.recipe import Recipe

RECIPE = """
version = 1
default = "int4-b32"
[[rule]]
match = "*.bias"
action = "keep"
note = "biases"
[[rule]]
match = "half"
scheme = "q8s/native/t:f32"
[[rule]]
match = "*.norm*"
action = "keep"
"""


@pytest.fixture
def recipe(tmp_path):
    path = tmp_path / "r.toml"
    path.write_text(RECIPE)
    return path


def test_quantize_follows_a_recipe(run, model, recipe):
    code, out, err = run("quantize", model, "-o", "q.safetensors", "--recipe", recipe)
    assert code == 0, err
    assert "kept enc.bias: rule 1 keeps it: biases" in out
    assert "warning: rule 3 (*.norm*) matches nothing" in err
    with qcore.open("q.safetensors") as made, qcore.open(model) as source:
        assert str(made.info("enc.weight").scheme) == "q4s/u32/b32:f16"
        assert made.tensor("half") == qcore.quantize(source.tensor("half"), "q8s/native/t:f32")
        told = json.loads(made.stored.metadata["qcore.provenance"])
    assert told["recipe_digest"] == Recipe.load(recipe).digest


def test_a_dry_run_tells_what_each_rule_makes(run, document, model, recipe, tmp_path):
    code, out, _ = run("quantize", model, "-o", "q.npz", "--recipe", recipe, "--dry-run")
    assert code == 0
    assert "rule  for" in out
    assert "default" in out
    assert not (tmp_path / "q.npz").exists()
    found = document("quantize", model, "-o", "q.npz", "--recipe", recipe, "--dry-run")
    assert [(row["rule"], row["tensors"]) for row in found["rules"]] == [
        (1, ["enc.bias"]), (2, ["half"]), (3, []), (None, ["ids", "enc.weight"]),
    ]  # fmt: skip
    assert found["dead_rules"] == ["rule 3 (*.norm*) matches nothing"]
    assert found["settings"]["recipe"] == str(recipe)


def test_one_of_scheme_and_recipe_is_asked_for(run, model, recipe):
    for words in ([], ["--scheme", "int8", "--recipe", recipe]):
        code, _, err = run("quantize", model, "-o", "q.npz", *words)
        assert code == 2
        assert "--scheme or --recipe" in err


def test_a_flag_wins_over_the_recipe(run, model, recipe):
    assert run("quantize", model, "-o", "q.npz", "--recipe", recipe, "--calibration", "mse")[0] == 0
    with qcore.open("q.npz") as made:
        assert made.tensor("enc.weight").rules["calibration"] == "mse"


def test_refusals_are_listed_by_name_before_any_work(run, tmp_path, model, recipe):
    recipe.write_text('version = 1\ndefault = "q4s/u32/b2x2x32:f16"\n')
    code, _, err = run("quantize", model, "-o", "q.npz", "--recipe", recipe)
    assert code == 3
    assert "error[recipe-refused]: 3 of 4 tensors are refused: " in err
    assert all(f"{name}: [block-rank]" in err for name in ("enc.weight", "enc.bias", "half"))
    assert not (tmp_path / "q.npz").exists()


def test_check_holds_a_recipe_against_a_file(run, document, model, recipe):
    code, out, err = run("check", model, "--recipe", recipe)
    assert code == 0
    assert "3 of 4" not in out
    assert "2 of 4 tensors, 0 refused" in out
    assert "warning: rule 3" in err
    found = document("check", model, "--recipe", recipe, "--on", "gguf", code=3)
    assert not found["ok"]
    assert {row["name"] for row in found["refusals"]} == {"half"}


def test_check_takes_a_recipe_or_a_scheme(run, model, recipe):
    assert run("check", model, "--recipe", recipe, "--scheme", "int8")[0] == 2
    assert run("check", "--recipe", recipe)[0] == 2


@pytest.mark.parametrize("text", ["version = 1\nfoo = 2", "[[rule]]"])
def test_a_file_that_is_no_recipe_is_refused(run, model, recipe, text):
    recipe.write_text(text)
    code, _, err = run("quantize", model, "-o", "q.npz", "--recipe", recipe)
    assert code == 3
    assert "error[recipe-text]" in err
    assert "r.toml" in err


def test_a_recipe_moves_tensors_for_burn(run, model, recipe):
    recipe.write_text('version = 1\n[[rule]]\nmatch = "enc.weight"\ntranspose = true\nscheme = "burn-int8"\n'
                      '[[rule]]\nmatch = "half"\ntranspose = false\naction = "keep"\n')  # fmt: skip
    code, _, err = run("quantize", model, "-o", "q.bpk", "--recipe", recipe)
    assert code == 0, err
    with qcore.open("q.bpk") as made, qcore.open(model) as source:
        turned = np.ascontiguousarray(source.tensor("enc.weight").T)
        assert made.tensor("enc.weight") == qcore.quantize(turned, "burn-int8")
