"""How good a model is: splits of what was observed, measures of values and of lists, side by side.

>>> from bmcg import BMCG
>>> from bmcg.baselines import BPMF
>>> from bmcg.datasets import random_low_rank
>>> from bmcg.evaluation import evaluate, k_folds
>>> data = random_low_rank(2, 0.5, shape=(40, 30))
>>> found = evaluate({"BMCG": BMCG(), "BPMF": BPMF()}, k_folds(data.observations, 2))
>>> found["BMCG"]["rmse"] > 0
True
"""

from __future__ import annotations

from .comparing import Evaluation, evaluate
from .lists import LIST_MEASURES, ListMeasures, list_measures
from .splits import Split, k_folds, leave_out, random_split, time_split
from .triples import OnTriples
from .values import LEVELS, VALUE_MEASURES, ValueMeasures, value_measures

__all__ = [
    "LEVELS",
    "LIST_MEASURES",
    "VALUE_MEASURES",
    "Evaluation",
    "ListMeasures",
    "OnTriples",
    "Split",
    "ValueMeasures",
    "evaluate",
    "k_folds",
    "leave_out",
    "list_measures",
    "random_split",
    "time_split",
    "value_measures",
]
