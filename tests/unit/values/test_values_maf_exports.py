"""Everything that a release of MAF exports is known here, so that an upgrade that brings a new type fails until it is.

What is data survives with every attribute; `MACHINERY` is what runs, and is never in a message or state.
"""

from __future__ import annotations

import enum
import inspect
import typing
from collections.abc import Callable
from typing import Any

import agent_framework
import agent_framework_orchestrations
import pydantic
import pytest
from agent_framework import AgentResponse, Content, Message, UsageDetails, WorkflowEvent, WorkflowMessage
from hypothesis import given, settings
from hypothesis import strategies as st

from temporal_adapter.values import Codec
from tests.unit.values.samples import Line, through_json
from tests.unit.values.test_values_maf_types import state

CODEC = Codec({"line": Line})

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
RAW = st.none() | PLAIN | st.builds(Line, name=st.text())

FACTORIES = sorted(name for name in dir(Content) if name.startswith("from_") and name != "from_dict")


def _argument(name: str, parameter: inspect.Parameter) -> st.SearchStrategy[Any]:
    """Return what a factory of Content takes for a parameter; by name where its type says too little."""
    named: dict[str, st.SearchStrategy[Any]] = {
        "data": st.binary(max_size=8),
        "uri": st.just("https://example.org/a.png") | st.just("data:image/png;base64,QQ=="),
        "media_type": st.just("image/png"),
        "function_call": st.builds(
            Content.from_function_call, call_id=st.text(), name=st.text(), arguments=st.dictionaries(st.text(), PLAIN)
        ),
        "usage_details": st.builds(UsageDetails, input_token_count=st.integers(0, 99)),
        "approved": st.booleans(),
        "annotations": st.none() | st.just([{"type": "citation", "title": "t", "raw_representation": None}]),
        "additional_properties": st.none() | st.dictionaries(st.text(max_size=3), PLAIN, max_size=2),
        "raw_representation": RAW,
        "merge_mode": st.sampled_from([None, "append", "replace"]),
        "screenshot": st.none() | st.just(Content.from_uri("https://example.org/a.png", media_type="image/png")),
        "actions": st.just([{"type": "click", "x": 1}]),
        "result": st.none() | st.text() | st.builds(lambda text: [Content.from_text(text)], st.text()),
        "outputs": st.none() | st.builds(lambda text: [Content.from_text(text)], st.text()),
        "inputs": st.none() | st.builds(lambda text: [Content.from_text(text)], st.text()),
    }
    if name in named:
        return named[name]
    text = str(parameter.annotation)
    if "Sequence[str]" in text or "list[str]" in text:
        return st.lists(st.text(max_size=3), max_size=2)
    if "Sequence[" in text or "list[" in text:
        return st.just([])
    if "Mapping" in text or "dict[" in text:
        return st.dictionaries(st.text(max_size=3), PLAIN, max_size=2)
    if "bool" in text:
        return st.booleans()
    if "int" in text and "str" not in text:
        return st.integers(0, 9)
    return st.text(min_size=1, max_size=5)


@st.composite
def contents(draw: st.DrawFn, names: list[str] = FACTORIES) -> Content:
    factory: Callable[..., Content] = getattr(Content, draw(st.sampled_from(names)))
    parameters = inspect.signature(factory).parameters
    arguments: dict[str, Any] = {}
    for name, parameter in parameters.items():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            continue
        if parameter.default is inspect.Parameter.empty or draw(st.booleans()):
            arguments[name] = draw(_argument(name, parameter))
    return factory(**arguments)


@pytest.mark.parametrize("factory", FACTORIES)
def test_a_content_of_each_factory_survives_with_every_attribute(factory: str) -> None:
    @given(contents([factory]))
    def survives(content: Content) -> None:
        assert state(through_json(CODEC, content)) == state(content)

    survives()


def _content_types() -> tuple[str, ...]:
    hints = typing.get_type_hints(Content.__init__)
    return typing.get_args(hints["type"]) if typing.get_origin(hints["type"]) is typing.Literal else ()


@pytest.mark.parametrize("kind", _content_types())
def test_a_content_of_each_type_survives_with_all_attributes_set(kind: Any) -> None:
    content = Content(kind)
    for number, name in enumerate(vars(content)):
        if name != "type" and vars(content)[name] is None:
            setattr(content, name, [name, number])

    assert state(through_json(CODEC, content)) == state(content)


MESSAGES = st.builds(
    Message,
    st.sampled_from(["user", "assistant", "system", "tool"]),
    st.lists(contents(), max_size=3),
    author_name=st.none() | st.text(),
    message_id=st.none() | st.text(),
    additional_properties=st.none() | st.dictionaries(st.text(max_size=3), PLAIN, max_size=2),
    raw_representation=RAW,
)


@settings(max_examples=50)
@given(MESSAGES)
def test_a_message_survives_with_every_attribute(message: Message) -> None:
    assert state(through_json(CODEC, message)) == state(message)


@settings(max_examples=30)
@given(st.lists(MESSAGES, max_size=2), RAW)
def test_what_holds_messages_survives_with_every_attribute(messages: list[Message], raw: Any) -> None:
    response: AgentResponse[Any] = AgentResponse(messages=messages, response_id="r", raw_representation=raw)
    event = WorkflowEvent("output", response, executor_id="e")
    values = [response, WorkflowMessage(data=response, source_id="s"), event]

    assert state(through_json(CODEC, values)) == state(values)


# --- what a release exports ---------------------------------------------------------------------------------

DATA = {
    *("AgentExecutorRequest", "AgentExecutorResponse", "AgentResponse", "AgentResponseUpdate", "AgentSession"),
    *("BackgroundTaskInfo", "ChatResponse", "ChatResponseUpdate", "Content", "Embedding", "FileSearchMatch"),
    *("FileSearchResult", "FileStoreEntry", "MemoryIndexEntry", "MemoryTopicRecord", "Message", "TodoItem"),
    *("SubWorkflowRequestMessage", "SubWorkflowResponseMessage", "ToolApprovalRule", "ToolApprovalState"),
    *("WorkflowCheckpoint", "WorkflowErrorDetails", "WorkflowEvent", "WorkflowInvocationKwargs", "WorkflowMessage"),
    *("CheckResult", "EvalItemResult", "EvalScoreResult", "ExpectedToolCall", "RubricScore", "JudgeVerdict"),
    *("Filter", "FilterGroup", "Param"),
    *("AgentRequestInfoResponse", "GroupChatRequestMessage", "GroupChatRequestSentEvent"),
    *("GroupChatResponseReceivedEvent", "GroupChatState", "HandoffAgentUserRequest", "HandoffSentEvent"),
    *("HandoffConfiguration", "MagenticContext", "MagenticOrchestratorEvent", "MagenticPlanReviewRequest"),
    *("MagenticPlanReviewResponse", "MagenticProgressLedger", "MagenticProgressLedgerItem", "MagenticResetSignal"),
    *("AgentOrchestrationOutput", "OrchestrationState"),
}
"""Classes of MAF that are in messages, state, requests, outputs or sessions, beside enums, exceptions, typed dicts."""


MACHINERY = {
    *("Agent", "AgentBasedGroupChatOrchestrator", "AgentContext", "AgentEvalConverter"),
    *("AgentExecutor", "AgentFileStore", "AgentLoopMiddleware", "AgentMiddleware"),
    *("AgentMiddlewareLayer", "AgentModeProvider", "AggregatingSkillsSource"),
    *("BackgroundAgentsProvider", "BaseAgent", "BaseChatClient", "BaseEmbeddingClient"),
    *("BaseGroupChatOrchestrator", "BaseVectorCollection", "BaseVectorSearch"),
    *("BaseVectorStore", "CachingSkillsSource", "Case", "CharacterEstimatorTokenizer"),
    *("ChatContext", "ChatMiddleware", "ChatMiddlewareLayer", "CheckpointStorage", "ClassSkill"),
    *("CompactionProvider", "CompactionStrategy", "ConcurrentBuilder", "ContextProvider"),
    *("ContextWindowCompactionStrategy", "ConversationSplitter", "DeduplicatingSkillsSource"),
    *("Default", "DelegatingSkillsSource", "Edge", "EvalItem", "EvalResults", "Evaluator", "Executor"),
    *("FanInEdgeGroup", "FanOutEdgeGroup", "FileAccessProvider", "FileCheckpointStorage"),
    *("FileHistoryProvider", "FileMemoryProvider", "FileSessionStore", "FileSkill"),
    *("FileSkillScript", "FileSkillsSource", "FileSystemAgentFileStore"),
    *("FilteringSkillsSource", "FunctionExecutor", "FunctionInvocationContext"),
    *("FunctionInvocationLayer", "FunctionMiddleware", "FunctionTool", "FunctionalWorkflow"),
    *("FunctionalWorkflowAgent", "FunctionalWorkflowDefinition", "GeneratedEmbeddings"),
    *("GroupChatBuilder", "GroupChatOrchestrator", "HandoffAgentExecutor", "HandoffBuilder"),
    *("HistoryProvider", "InMemoryAgentFileStore", "InMemoryCheckpointStorage"),
    *("InMemoryCollection", "InMemoryHistoryProvider", "InMemorySkillsSource", "InMemoryStore"),
    *("InProcRunnerContext", "InlineSkill", "InlineSkillResource", "InlineSkillScript"),
    *("LocalEvaluator", "MCPSkill", "MCPSkillResource", "MCPSkillsSource", "MCPStdioTool"),
    *("MCPStreamableHTTPTool", "MCPTaskOptions", "MCPWebsocketTool", "MagenticAgentExecutor"),
    *("MagenticBuilder", "MagenticManagerBase", "MagenticOrchestrator", "MemoryContextProvider"),
    *("MemoryFileStore", "MemoryStore", "MessageInjectionMiddleware", "MiddlewareBundle"),
    *("RawAgent", "ResponseStream", "RunContext", "Runner", "RunnerContext", "SearchResults"),
    *("SecretString", "SelectiveToolCallCompactionStrategy", "SequentialBuilder"),
    *("SessionContext", "SessionStore", "SingleEdgeGroup", "Skill", "SkillFrontmatter"),
    *("SkillResource", "SkillScript", "SkillScriptRunner", "SkillsProvider", "SkillsSource"),
    *("SkillsSourceContext", "SlidingWindowStrategy", "StandardMagenticManager", "StepWrapper"),
    *("SummarizationStrategy", "SupportsAgentRun", "SupportsChatGetResponse"),
    *("SupportsCodeInterpreterTool", "SupportsFileSearchTool", "SupportsGetEmbeddings"),
    *("SupportsImageGenerationTool", "SupportsMCPTool", "SupportsShellTool"),
    *("SupportsVectorSearch", "SupportsVectorUpsert", "SupportsWebSearchTool"),
    *("SwitchCaseEdgeGroup", "SwitchCaseEdgeGroupCase", "SwitchCaseEdgeGroupDefault"),
    *("TodoFileStore", "TodoProvider", "TodoSessionStore", "TodoStore"),
    *("TokenBudgetComposedStrategy", "TokenizerProtocol", "ToolApprovalMiddleware"),
    *("ToolResultCompactionStrategy", "TruncationStrategy"),
    *("VectorCollectionContextProvider", "VectorStoreCollectionDefinition"),
    *("VectorStoreField", "VectorStoreHistoryProvider", "Workflow", "WorkflowAgent"),
    *("WorkflowBuilder", "WorkflowContext", "WorkflowExecutor", "WorkflowRunResult", "WorkflowViz"),
}
"""Classes of MAF that run: they are built by a graph's factory, and are never in what is stored."""


def exported() -> dict[str, type]:
    """Return the classes that MAF's packages export, by name."""
    found: dict[str, type] = {}
    for package in (agent_framework, agent_framework_orchestrations):
        values = ((name, getattr(package, name)) for name in package.__all__)
        found.update((name, value) for name, value in values if isinstance(value, type))
    return found


EXPORTED = exported()


def speaks_for_itself(cls: type) -> bool:
    """Whether a class is an enum, an exception, a typed dict, or not MAF's: `CheckpointID` is `str`."""
    return issubclass(cls, (enum.Enum, BaseException)) or hasattr(cls, "__total__") or cls.__module__ == "builtins"


def test_every_class_that_maf_exports_is_known() -> None:
    unknown = {name for name, cls in EXPORTED.items() if not speaks_for_itself(cls)} - DATA - MACHINERY

    assert unknown == set(), "say of each whether it is data, and see that it survives"


def test_every_class_that_is_known_is_exported() -> None:
    assert (DATA | MACHINERY) - set(EXPORTED) == set()


def filled(cls: type[Any]) -> Any:
    """Return an instance whose attributes are all set, to something that its class does not expect."""
    names = [name for name in inspect.signature(cls.__init__).parameters if name not in ("self", "args", "kwargs")]
    values = {name: {"of": (name, Line(name=name), b"x")} for name in names}
    if issubclass(cls, pydantic.BaseModel):
        return cls.model_construct(**values)
    instance = object.__new__(cls)
    for name, value in values.items():
        object.__setattr__(instance, name if not isinstance(getattr(cls, name, None), property) else f"_{name}", value)
    return instance


@pytest.mark.parametrize("name", sorted(DATA - {"Content"}))
def test_an_instance_of_each_data_class_survives_whatever_its_attributes_hold(name: str) -> None:
    instance = filled(EXPORTED[name])

    restored = through_json(CODEC, instance)

    if not hasattr(instance, "raw_representation") and getattr(restored, "raw_representation", 1) is None:
        del restored.raw_representation  # MAF's own __setstate__ adds it to all that have one
    assert state(restored) == state(instance)


@pytest.mark.parametrize("name", sorted(name for name, cls in EXPORTED.items() if issubclass(cls, enum.Enum)))
def test_every_member_of_each_enum_survives(name: str) -> None:
    members = list(EXPORTED[name])  # type: ignore[call-overload]

    assert all(one is other for one, other in zip(through_json(CODEC, members), members, strict=True))


@pytest.mark.parametrize("name", sorted(name for name, cls in EXPORTED.items() if issubclass(cls, BaseException)))
def test_each_exception_survives(name: str) -> None:
    cls: Any = EXPORTED[name]
    error = cls.__new__(cls, "no")
    error.__dict__.update(found={"at": (1, 2)})

    restored = through_json(CODEC, error)

    assert (type(restored), restored.args, vars(restored)) == (cls, error.args, vars(error))
