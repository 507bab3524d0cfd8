"""Responses from their arrival until they are in flight: judged, accepted, and put in a checkpoint of their own.

A replay brings the responses of the run that it repeats along; they are given again at the same places.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from temporal_adapter import wire

from .audit import Audit
from .cancellations import Cancellations
from .decisions import Answer, Fate, Judge
from .inbox import Inbox, Queued, Source
from .journal import Journal
from .level import Level
from .recorder import Recorder, Stamp

_GONE = "the superstep of the executor that made the request failed."  # in a session, which goes on
_INLINE_BUDGET = 256 * 1024
"""Bytes of values that the responses which one superstep will find may hold inline: they go into one checkpoint."""

_NOT_ALONE = "it was not taken, since another response that came with it is refused."


class Responses:
    """The inbox, and what was accepted from it and waits for a superstep to end."""

    def __init__(self, recorder: Recorder, journal: Journal, clock: Callable[[], str | None]) -> None:
        self.inbox = Inbox()
        self.audit = Audit()
        self.cancellations = Cancellations(recorder, journal, self.inbox, self.audit)
        self._clock = clock
        self._recorder = recorder
        self._journal = journal
        self._accepted: list[wire.RoutedMessage] = []
        self._entering: dict[str, wire.Responded] = {}  # of those, by request id
        self._stamp: Stamp | None = None  # of the response-entry checkpoint for them
        self._recorded: list[wire.RecordedResponse] = []

    def receive(
        self,
        ticket: int,
        responses: tuple[wire.Response, ...],
        *,
        whole: bool = False,
        source: Source = "person",
        state: Mapping[str, wire.Value] | None = None,
    ) -> None:
        """Take the responses of a signal or update; the ticket names them in the answer."""
        self.inbox.add(ticket, responses, whole=whole, source=source, state=state)

    def take_answers(self) -> list[Answer]:
        """Return the answers complete by now, each once."""
        return [*self.inbox.take_answers(), *self.cancellations.take_answers()]

    @property
    def under_judgement(self) -> bool:
        """Whether a batch is being judged."""
        return bool(self.inbox.judging)

    @property
    def busy(self) -> bool:
        """Whether anything that came has no outcome yet."""
        return bool(self._accepted) or self.inbox.busy or self.cancellations.busy

    @property
    def accepted(self) -> bool:
        """Whether there are accepted responses that are not yet in flight."""
        return bool(self._accepted)

    def refuse_all(self, reason: str) -> None:
        """Nothing that waits will be judged."""
        self.inbox.refuse_all(reason)
        self._tell_refusals({}, shown=False)
        self.cancellations.refuse_all(reason)

    def judge(self, root: Level, *, at_rest: bool) -> Judge | None:
        """Return the decision to judge what has come; a run at rest has the activity write the checkpoint, too."""
        batch = self.inbox.next_batch(root.requests)
        self._tell_refusals(root.requests)
        if not batch:
            return None
        header: wire.CheckpointHeader | None = None
        # The activity writes what it accepts; of responses that are accepted together or not at all, that is not known,
        # nor does it know the state that some bring along.
        at_rest = at_rest and not any(queued.whole or queued.state for queued in batch)
        if at_rest:
            self._stamp = self._recorder.mint()
            header = self._recorder.promise("response", root.iteration, self._stamp)
        return Judge(
            wire.RespondInput(
                graph=root.graph.signature,
                requests=[root.requests[queued.response.request_id] for queued in batch],
                responses=[queued.response for queued in batch],
                inline_budget=max(0, _INLINE_BUDGET - sum(map(_inline_size, self._accepted))),
                expired=[queued.response.request_id for queued in batch if queued.source == "deadline"],
                header=header,
                snapshot=self._recorder.snapshot() if at_rest else None,
            )
        )

    def judged(self, result: wire.RespondResult, root: Level) -> None:
        """Take the judgements of the batch."""
        stamp = self._stamp = self._stamp or self._recorder.mint()
        judged, self.inbox.judging = self.inbox.judging, []
        refusals = [
            _GONE if queued.response.request_id not in root.requests else judgement.refused
            for queued, judgement in zip(judged, result.judgements, strict=True)
        ]
        broken = {
            one.ticket.number
            for one, refused in zip(judged, refusals, strict=True)
            if one.whole and (refused or any(fate.refused for fate in one.ticket.fates.values()))
        }
        for queued, judgement, refused in zip(judged, result.judgements, refusals, strict=True):
            if refused is None and queued.ticket.number in broken:
                refused = _NOT_ALONE
            if refused is None and judgement.message is not None:
                self._accept(queued, judgement.message, stamp, result.at)
            else:
                self.inbox.settle(queued, Fate(queued.response.request_id, refused=refused or "refused"))
        self._tell_refusals(root.requests)

    def _accept(self, queued: Queued, routed: wire.RoutedMessage, stamp: Stamp, at: str) -> None:
        response = queued.response
        self._note(
            wire.Responded(
                request_id=response.request_id,
                outcome="accepted",
                executor_id=_executor_of(routed),
                source=queued.source,
                response=routed.message.data,
                fingerprint=wire.fingerprint(response.response),
                responder=response.responder,
                comment=response.comment,
                at=at,
                checkpoint_id=stamp.id,
            )
        )
        for key, value in queued.state.items():
            self._recorder.put(("", "state", key), value)
        self._accepted.append(routed)
        self.inbox.accept(queued, stamp.id, at)

    def _note(self, record: wire.Responded) -> None:
        self._entering[record.request_id] = record
        self.audit.add(record)

    def none_accepted(self) -> None:
        """The batch left nothing to put in flight."""
        self._stamp = None

    def _tell_refusals(self, requests: Mapping[str, wire.Request], *, shown: bool = True) -> None:
        for queued, fate in self.inbox.take_refusals():
            waits = fate.request_id in requests and self.inbox.is_open(fate.request_id)
            if queued.source == "deadline" and not (shown and waits):
                continue  # a person was faster, or the run ends
            if shown:
                what = "The default of the deadline of" if queued.source == "deadline" else "A response to"
                self._journal.warn(f"{what} request {fate.request_id!r} was refused: {fate.refused}")
            request = requests.get(fate.request_id)
            self.audit.add(
                wire.Responded(
                    request_id=fate.request_id,
                    outcome="refused",
                    executor_id=None if request is None else request.source_executor_id,
                    source=queued.source,
                    responder=queued.response.responder,
                    comment=queued.response.comment,
                    at=self._clock(),
                    reason=fate.refused,
                )
            )

    def enter(
        self, root: Level, committed: wire.CommitOutcome | None, at: str | None = None, *, audited: bool = True
    ) -> None:
        """Put the accepted responses in flight, in a checkpoint of their own; `at` is when, if not by the stamp.

        `audited` tells whether its metadata says who answered: not where an earlier release has written it.
        """
        for request_id in map(_request_id, self._accepted):
            if self.inbox.is_answered(request_id):  # else it was made again meanwhile, and waits
                root.answered(request_id)
        root.messages.extend(self._accepted)
        header = self._recorder.take("response", root.iteration, self._stamp)
        header = header if at is None else wire.replace(header, timestamp=at)
        if audited:
            records = [self._entering[one] for one in map(_request_id, self._accepted)]
            header = wire.replace(header, metadata=wire.response_metadata(records))
        self._accepted, self._stamp, self._entering = [], None, {}
        self._recorder.record(header, root.messages, committed)

    def keep(self, root: Level) -> None:
        """Record the responses that were accepted while an abandoned superstep ran, on what it found.

        Their senders were promised a checkpoint; a resume from it has the superstep and the responses before it. A
        response to a request that this superstep made goes with the request.
        """
        if root.superstep is None or not self._accepted:
            return
        root.undo_superstep()
        gone = [one for one in map(_request_id, self._accepted) if one not in root.requests]
        self.inbox.withdraw(gone, _GONE)
        for request_id in gone:
            record = self._entering.pop(request_id)
            self.audit.add(wire.replace(record, outcome="refused", response=None, checkpoint_id=None, reason=_GONE))
        self._accepted = [routed for routed in self._accepted if _request_id(routed) in root.requests]
        if self._accepted:
            self.enter(root, None)
        self._stamp = None

    # --- of the run that is replayed ------------------------------------------------------------------------

    def repeat(self, recorded: list[wire.RecordedResponse]) -> None:
        """The run repeats another, which was given these responses."""
        self._recorded = list(recorded)

    @property
    def still_recorded(self) -> list[wire.RecordedResponse]:
        """Those of the repeated run whose turn has not come."""
        return list(self._recorded)

    def accept_recorded(self, root: Level, *, at_rest: bool) -> None:
        """Accept the recorded responses whose turn it is: after the same superstep as then, or because all waits.

        At rest it is the turn of those that came together first, of which any is to a request that is pending.
        """
        if at_rest:
            entries = list(dict.fromkeys(one.checkpoint_id for one in self._recorded))
            for entry in entries:
                if self._accept_where(root, lambda one, entry=entry: one.checkpoint_id == entry):
                    return
        else:
            self._accept_where(root, lambda one: one.iteration <= root.iteration)

    def _accept_where(self, root: Level, its_turn: Callable[[wire.RecordedResponse], bool]) -> bool:
        left: list[wire.RecordedResponse] = []
        for one in self._recorded:
            request = self._request_for(one, root) if its_turn(one) else None
            if request is None:
                left.append(one)
                continue
            if one.routed is None:
                self.cancellations.repeat(request)
                continue
            self._stamp = self._stamp or self._recorder.mint()
            message = wire.replace(one.routed.message, request=request)
            self._note(
                wire.Responded(
                    request_id=request.request_id,
                    outcome="accepted",
                    executor_id=request.source_executor_id,
                    source="replay",
                    response=message.data,
                    at=self._stamp.timestamp,
                    checkpoint_id=self._stamp.id,
                )
            )
            self._accepted.append(wire.replace(one.routed, message=message))
            self.inbox.answered_from_record(request.request_id, self._stamp.id)
        accepted = len(left) < len(self._recorded)
        self._recorded = left
        return accepted

    def _request_for(self, recorded: wire.RecordedResponse, root: Level) -> wire.Request | None:
        """Return the pending request that a recorded response is to: the same, an equal one, or one by its executor."""
        then = recorded.cancelled if recorded.routed is None else recorded.routed.message.request
        if then is None:
            return None
        open_ones = [one for key, one in root.requests.items() if self.inbox.is_open(key)]
        by_executor = [
            one
            for one in open_ones
            if one.source_executor_id == then.source_executor_id and one.response_type == then.response_type
        ]
        same = [one for one in open_ones if one.request_id == then.request_id]
        equal = [one for one in by_executor if _same_value(one.data, then.data)]
        return next(iter([*same, *equal, *by_executor]), None)


def _same_value(left: wire.Value, right: wire.Value) -> bool:
    """Whether two values are the same, also where one of them is in the blob store."""
    return left == right or (left.size == right.size and _reference(left) == _reference(right))


def _reference(value: wire.Value) -> str:
    return value.ref if value.ref is not None else wire.digest(wire.to_bytes(value.inline))


def _inline_size(routed: wire.RoutedMessage) -> int:
    """Return how many bytes of values an accepted response holds inline."""
    request = routed.message.request
    values = [routed.message.data, *([] if request is None else [request.data])]
    return sum(value.size for value in values if value.ref is None)


def _executor_of(routed: wire.RoutedMessage) -> str | None:
    """Return the executor whose request a response answers."""
    request = routed.message.request
    return None if request is None else request.source_executor_id


def _request_id(routed: wire.RoutedMessage) -> str:
    """Return the id of the request that a response answers."""
    request = routed.message.request
    return "" if request is None else request.request_id
