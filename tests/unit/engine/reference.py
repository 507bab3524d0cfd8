"""The semantics of a run, written down again without the engine: plain dicts, one superstep after another.

Given a script and the responses that each response-entry checkpoint holds, it says what every checkpoint must hold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .scripted import START, Ask, Doing, Script, Send


@dataclass(frozen=True)
class Sent:
    """A message in flight or in a buffer."""

    source: str
    data: Any
    target_id: str | None = None


@dataclass(frozen=True)
class Moment:
    """A checkpoint in full, decoded."""

    kind: str
    iteration: int
    state: dict[str, Any]
    memories: dict[str, Any]
    buffers: dict[str, list[Sent]]
    requests: dict[str, Any]
    messages: list[Sent]


@dataclass
class Course:
    """What a run must come to."""

    moments: list[Moment] = field(default_factory=list)
    outputs: list[Any] = field(default_factory=list)
    end: str = ""  # IDLE, FAILED, or PAUSED when no response is left
    failures: list[str] = field(default_factory=list)  # messages of the failures, any of which may come first


class _Run:
    def __init__(self, script: Script, first: Any) -> None:
        self.script = script
        self.course = Course()
        self.iteration = 0
        self.state: dict[str, Any] = {}
        self.memories: dict[str, Any] = {}
        self.buffers: dict[str, list[Sent]] = {key: [] for key in script.fan_ins}
        self.requests: dict[str, tuple[str, Ask]] = {}
        self.messages = [Sent(f"internal:{START}", first, START)]

    def take(self, kind: str) -> None:
        moment = Moment(
            kind=kind,
            iteration=self.iteration,
            state=dict(self.state),
            memories=dict(self.memories),
            buffers={key: list(held) for key, held in self.buffers.items() if held},
            requests={key: ask.data for key, (_, ask) in self.requests.items()},
            messages=list(self.messages),
        )
        self.course.moments.append(moment)

    def routes(self, sent: Sent) -> list[tuple[int, list[str], str | None, str | None]]:
        if sent.source.startswith("internal:"):
            return [(0, [sent.source.removeprefix("internal:")], None, None)]
        routes = self.script.route(sent.source, Send(sent.data, sent.target_id))
        return [
            (route.group, route.targets, route.fan_in, None if route.error is None else route.error.message)
            for route in routes
        ]

    def deliveries(self) -> list[tuple[str, list[Any]]]:
        made: list[tuple[str, list[Any]]] = []
        for source in dict.fromkeys(sent.source for sent in self.messages):
            mine = [(sent, self.routes(sent)) for sent in self.messages if sent.source == source]
            for group in range(100):
                for sent, routes in mine:
                    for index, targets, fan_in, error in routes:
                        if index != group:
                            continue
                        if error is not None:
                            self.course.failures.append(error)
                        made.extend((target, [sent.data]) for target in targets)
                        if fan_in is not None:
                            self.buffer(fan_in, sent, made)
        return made

    def buffer(self, key: str, sent: Sent, made: list[tuple[str, list[Any]]]) -> None:
        fan_in = self.script.fan_ins[key]
        held = self.buffers[key]
        held.append(sent)
        by_source = [[one.data for one in held if one.source == source] for source in fan_in.sources]
        if all(by_source):
            made.append((fan_in.target, [data for part in by_source for data in part]))
            self.buffers[key] = []

    def superstep(self) -> bool:
        made = self.deliveries()
        if self.course.failures:
            return False
        done: list[tuple[str, Doing]] = []
        seen: dict[str, dict[str, Any]] = {}
        memories = dict(self.memories)
        for executor, batch in made:
            mine = seen.setdefault(executor, dict(self.state))
            doing = self.script.do(executor, batch, mine, memories.get(executor))
            if doing.fails:
                self.course.failures.append(f"{executor} failed")
            _write(mine, doing.writes)
            memories[executor] = doing.memory
            done.append((executor, doing))
        if self.course.failures:
            return False
        self.memories = memories
        self.messages = []
        for executor, doing in done:
            _write(self.state, doing.writes)
            self.requests.update((ask.request_id, (executor, ask)) for ask in doing.asks)
            self.messages.extend(Sent(executor, send.data, send.target_id) for send in doing.sends)
            self.course.outputs.extend(doing.outputs)
        self.iteration += 1
        self.take("superstep")
        return True

    def answer(self, responses: Sequence[tuple[str, Any]]) -> None:
        for request_id, response in responses:
            executor, _ = self.requests.pop(request_id)
            self.messages.append(Sent(f"internal:{executor}", response, executor))
        self.take("response")


def _write(state: dict[str, Any], writes: Mapping[str, Any]) -> None:
    for key, value in writes.items():
        if value is None:
            state.pop(key, None)
        else:
            state[key] = value


def follow(script: Script, first: Any, responses_at: Mapping[int, Sequence[tuple[str, Any]]]) -> Course:
    """Return the course of a run. `responses_at` maps the place of a response-entry checkpoint to its responses."""
    run = _Run(script, first)
    course = run.course
    run.take("entry")
    while True:
        while len(course.moments) in responses_at:  # several, where the next superstep is held
            run.answer(responses_at[len(course.moments)])
        if not run.messages:
            course.end = "PAUSED" if run.requests else "IDLE"
            return course
        if run.iteration >= script.max_iterations:
            course.failures.append(f"Runner did not converge after {script.max_iterations} iterations.")
        before = {key: list(held) for key, held in run.buffers.items()}
        if course.failures or not run.superstep():
            run.buffers.update(before)
            if len(course.moments) in responses_at:  # accepted while the failed superstep ran: not lost with it
                run.answer(responses_at[len(course.moments)])
            course.end = "FAILED"
            return course
