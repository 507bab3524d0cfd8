"""What `make test` leaves to `make chaos`: further instances, and larger ones, of what it has some of.

Of a test that is named here only the listed parameter ids stay in `make test`; of one without any, none does.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

KEPT: dict[str, tuple[str, ...]] = {
    # a replay of every checkpoint, for every graph
    "test_a_replay_of_each_checkpoint_does_the_rest_of_the_run_again": (
        "chain",
        "loop",
        "two requests, answered one by one",
        "executor state by hooks",
        "three levels",
        "intercepted requests",
        "agents",
        "tool approval",
    ),
    # many runs, long ones, wide ones
    "test_executor_states_of_many_runs_do_not_mix": (),
    "test_it_is_so_in_a_run_of_any_client_whatever_worker_runs_which_executor": (),
    "test_the_history_of_a_long_sub_workflow_grows_with_what_changes": (),
    "test_a_wide_run_waits_for_a_store_that_is_away_where_history_would_not_hold_it": (),
    "test_runs_work_while_a_prune_follows_the_other": (),
    "test_twenty_runs_of_a_nested_graph_at_once_share_nothing": (),
    "test_six_chats_at_once_on_one_worker_each_do_the_same_as_alone_in_process": (),
    "test_responses_to_many_runs_come_at_once": ("20",),
    "test_all_that_comes_at_once_is_taken_once_and_replays": ("1-0",),
    "test_inputs_of_a_session_that_come_at_once_are_taken_or_refused": ("1000",),
    # the worker, the server or the store goes away, once more
    "test_every_operation_works_without_a_workflow_cache": (),
    "test_a_worker_is_killed_in_a_turn_a_restore_and_a_reset": ("executor",),
    "test_a_run_that_loses_its_worker_after_every_activity_does_what_one_in_process_does": (
        "two at once",
        "two requests, answered one by one",
        "executor state by hooks",
    ),
    "test_all_objects_are_damaged": (
        "two requests-<lambda>0",
        "with a base-<lambda>1",
        "stowed sub-workflow-<lambda>2",
    ),
    "test_a_handler_that_blocks_the_event_loop_for_longer_harms_neither_itself_nor_its_neighbours": (),
    "test_a_cancelled_run_cancels_an_agent_that_is_long_in_a_model_call_within_seconds": (),
    "test_stopped_in_the_middle_it_takes_its_processes_with_it": ("2-130",),
    "test_ctrl_c_or_ctrl_d_at_the_question_ends_the_demo_and_its_processes": ("ctrl-c",),
    # orchestrations, with new workers at every pause
    "test_a_handoff_does_the_same_as_in_process": ("desk", "autonomous", "desk_with_a_history_provider"),
    "test_a_handoff_that_waits_for_a_person_goes_on_with_new_workers": ("desk_with_triage_first", "autonomous"),
    "test_a_chat_that_waits_for_people_goes_on_with_new_workers": ("with_a_manager",),
    "test_a_chat_that_waits_for_a_review_goes_on_with_new_workers": (),
    "test_a_run_that_waits_for_approvals_goes_on_with_new_workers": ("approve_last",),
    "test_a_team_that_waits_for_a_person_goes_on_with_new_workers": ("reviewed",),
    "test_a_workflow_from_yaml_does_the_same_as_in_process": ("True-inputs", "False-text"),
    # runs that go on as new Temporal runs at every chance
    "test_a_suite_holds_of_runs_that_go_on_at_every_chance": (),
    "test_a_run_of_many_links_is_as_one_in_process": (
        "carried along-chain",
        "through the blob store-loop",
        "through the blob store-fan-in that waits a superstep",
        "carried along-fan-out and fan-in",
        "carried along-executor state by hooks",
        "through the blob store-custom events",
        "carried along-two requests, answered one by one",
        "through the blob store-two requests, answered one by one",
        "through the blob store-attributes of an executor without hooks",
        "carried along-loop without end",
    ),
    # stored histories: all of them changed, cut everywhere, recorded anew, in every Python
    "test_histories_replay_when_cut_after_every_workflow_task": (),
    "test_no_history_at_all_that_is_changed_replays": (),
    "test_all_scenarios_played_without_a_workflow_cache_replay": (),
    "test_the_commands_are_the_same_in_all_pythons_of_this_machine": (),
    "test_the_commands_are_the_same_with_the_release_of_maf_before": (),
    # drawn graphs
    "test_generated_graphs_do_on_temporal_what_they_do_in_process": ("flow", "nested people", "all"),
    "test_a_generated_graph_does_by_the_engine_what_it_does_by_mafs_runner": (
        "people",
        "state",
        "failing",
        "nested people",
        "all",
    ),
}


def mark(items: Sequence[pytest.Item], *, whole: bool) -> None:
    """Mark the tests among these that are `make chaos`'s; where they are the whole suite, see that all names exist.

    Raises:
        pytest.UsageError: A test or parameter id that is named here does not exist.
    """
    unseen = {(name, one) for name, kept in KEPT.items() for one in kept or ("",)}
    for item in items:
        name, _, rest = item.name.partition("[")
        if name not in KEPT:
            continue
        parameters = rest.removesuffix("]") if KEPT[name] else ""
        unseen.discard((name, parameters))
        if not KEPT[name] or parameters not in KEPT[name]:
            item.add_marker(pytest.mark.chaos)
    if whole and unseen:
        raise pytest.UsageError(f"tests/support/chaos.py names tests that do not exist: {sorted(unseen)}")
