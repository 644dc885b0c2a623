"""Recipes: which tensor of a model becomes what, as ordered rules in a TOML file; the first that matches decides.

::

    version = 1
    default = "q4f/u32/b32:f16"      # what no rule matches; without it, or with "keep", that stays as it is
    ties = ["qkv", "gate-up"]        # tensors that runtimes fuse are held to one scheme

    [settings]                       # for every rule that says nothing else
    calibration = "mse"

    [[rule]]
    match = "*.norm*"                # a glob of * and ?; or regex = "..." for a whole name
    action = "keep"

    [[rule]]
    match = "*.down_proj.weight"
    transpose = true                 # also: rename = "..."
    scheme = "q8s/native/t:f32"
    note = "14.2 dB at 4 bit"

How it is used, by scripts, the command line and the inspector alike::

    recipe = Recipe.load("model.toml")                     # or Recipe.loads(text), Recipe.of("int4-b32")
    recipe.save(path); recipe.dumps(); recipe.digest       # canonical text and its digest
    plan = recipe.plan(infos)                              # TensorInfos of an open file: no data is read
    plan.demand()                                          # raises what is refused, all of it by name
    plan.dead                                              # sentences about rules that decide nothing
    for decision in plan:                                  # one for each tensor, in their order
        decision.name, decision.target                     # its name before and after
        decision.kept                                      # why it stays as it is; None where it is quantized
        decision.move                                      # whether it is transposed first (formats.orientation)
        decision.after                                     # TensorInfo of the result: scheme, exact bytes
        qcore.quantize(array, **decision.ask)              # the array as it lies after the move
        decision.shares                                    # under two levels, the tie whose tensors are to share one
                                                           # global scale, or None; whoever quantizes sees to it
                                                           # (qcore quantize does not yet)
    plan.by_rule()                                         # what each rule makes: tensors, bytes before and after
"""

from qcore.recipe.plan import FLOATS, Decision, Plan
from qcore.recipe.recipe import Recipe
from qcore.recipe.rule import KEEP, Rule

__all__ = ["FLOATS", "KEEP", "Decision", "Plan", "Recipe", "Rule"]
