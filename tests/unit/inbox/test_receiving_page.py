"""The tables of docs/receiving.md, compared with what the inbox does."""

import ast
from dataclasses import fields

from inbox.conf import Conf
from inbox.errors import FailureClass
from inbox.retries import POLICIES
from inbox.schemes import SCHEMES
from tests.unit.test_docs import CODE, first_words, rows

PAGE = "docs/receiving.md"


def test_every_scheme_is_listed_once_and_no_other():
    assert sorted(first_words(PAGE, "scheme")) == sorted(SCHEMES)


def test_age_is_judged_where_the_table_says_so():
    listed = {CODE.findall(cells[0])[0]: cells[2] for cells in rows(PAGE, "scheme")}

    assert [name for name, age in listed.items() if age == "yes"] == ["standard-webhooks", "stripe", "slack", "plaid"]


def test_every_setting_is_listed_with_its_default():
    listed = {CODE.findall(cells[0])[0]: ast.literal_eval(cells[1].strip("`")) for cells in rows(PAGE, "setting")}

    assert listed == {field.name.upper(): [] if field.default == () else field.default for field in fields(Conf)}


def test_every_failure_class_is_listed_with_its_attempts_and_longest_wait():
    listed = {CODE.findall(cells[0])[0]: cells for cells in rows(PAGE, "class")}

    assert listed.keys() == set(FailureClass)
    for failure, policy in POLICIES.items():
        assert listed[failure][3:] == [str(policy.max_attempts), f"{policy.cap_seconds:,} s"]
