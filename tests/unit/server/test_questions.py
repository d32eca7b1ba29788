"""Each question of the endpoints is answered by actors of the table that take its message."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args, get_origin

import pytest

from agent.composition import found
from agent.table import ActorRow
from agent.tree import ACTORS
from kernel import Actor, BaseActor, PooledActor
from server import questions
from server.questions import Question
from tests.support.agent.table import made_by, rows

ALL: dict[str, Question[Any]] = {
    name: value for name, value in vars(questions).items() if isinstance(value, Question)
}
ANSWERED = [
    pytest.param(row, question, id=f"{found(row.key).path} {question.message.__name__}")
    for row in rows(ACTORS)
    if isinstance(row, ActorRow)
    for question in row.answers
]


def heard(kind: type[BaseActor[Any]]) -> Iterator[object]:
    """Yield the types of the messages that an actor takes."""
    for base in getattr(kind, "__orig_bases__", ()):
        if get_origin(base) in {Actor, PooledActor}:
            (messages,) = get_args(base)
            yield from get_args(messages) or (messages,)


def test_each_question_has_somebody_who_answers_it() -> None:
    answered = {
        question for row in rows(ACTORS) if isinstance(row, ActorRow) for question in row.answers
    }
    assert answered == set(ALL.values())


@pytest.mark.parametrize(("row", "question"), ANSWERED)
def test_who_answers_a_question_takes_its_message(row: ActorRow, question: Question[Any]) -> None:
    assert question.message in set(heard(made_by(row)))
