"""What `make test` leaves to `make chaos`: further instances, and larger ones, of what it has some of.

Of a test that is named here only the listed parameter ids stay in `make test`; of one without any, none does.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

_GRAPHS = (
    "fan-out and fan-in",
    "fan-in that waits a superstep",
    "loop",
    "target_id",
    "executor state by hooks",
    "two requests, answered one by one",
)

KEPT: dict[str, tuple[str, ...]] = {
    # a replay of every checkpoint, for every graph
    "test_a_replay_of_each_checkpoint_does_the_rest_of_the_run_again": (
        "chain",
        "two requests, answered one by one",
        "three levels",
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
    "test_a_worker_is_killed_in_a_turn_a_restore_and_a_reset": (),
    "test_a_run_that_loses_its_worker_after_every_activity_does_what_one_in_process_does": (
        "two requests, answered one by one",
        "executor state by hooks",
    ),
    "test_all_objects_are_damaged": ("with a base-<lambda>1",),
    "test_a_handler_that_blocks_the_event_loop_for_longer_harms_neither_itself_nor_its_neighbours": (),
    "test_a_cancelled_run_cancels_an_agent_that_is_long_in_a_model_call_within_seconds": (),
    "test_stopped_in_the_middle_it_takes_its_processes_with_it": (),
    "test_ctrl_c_or_ctrl_d_at_the_question_ends_the_demo_and_its_processes": (),
    # orchestrations, with new workers at every pause
    "test_a_handoff_does_the_same_as_in_process": ("desk",),
    "test_a_handoff_that_waits_for_a_person_goes_on_with_new_workers": ("desk_with_triage_first",),
    "test_a_chat_that_waits_for_people_goes_on_with_new_workers": ("with_a_manager",),
    "test_a_chat_that_waits_for_a_review_goes_on_with_new_workers": (),
    "test_a_run_that_waits_for_approvals_goes_on_with_new_workers": ("approve_last",),
    "test_a_team_that_waits_for_a_person_goes_on_with_new_workers": (),
    "test_a_workflow_from_yaml_does_the_same_as_in_process": ("True-inputs",),
    # runs that go on as new Temporal runs at every chance
    "test_a_suite_holds_of_runs_that_go_on_at_every_chance": (),
    "test_a_run_of_many_links_is_as_one_in_process": (
        "carried along-fan-out and fan-in",
        "through the blob store-attributes of an executor without hooks",
        "through the blob store-two requests, answered one by one",
    ),
    # stored histories: all of them changed, cut everywhere, recorded anew, in every Python
    "test_histories_replay_when_cut_after_every_workflow_task": (),
    "test_no_history_at_all_that_is_changed_replays": (),
    "test_all_scenarios_played_without_a_workflow_cache_replay": (),
    "test_the_commands_are_the_same_in_all_pythons_of_this_machine": (),
    "test_the_commands_are_the_same_with_the_release_of_maf_before": (),
    # drawn graphs
    "test_generated_graphs_do_on_temporal_what_they_do_in_process": (
        "nested people",
        "all",
    ),
    "test_a_generated_graph_does_by_the_engine_what_it_does_by_mafs_runner": (
        "nested people",
        "all",
    ),
    # the same for every graph
    "test_a_run_without_a_cache_does_the_same_and_its_history_replays": _GRAPHS,
    "test_a_checkpoint_resumes_as_that_of_an_in_process_run_does": _GRAPHS,
    "test_each_checkpoint_resumes_to_the_outputs_of_the_rest_of_the_run": _GRAPHS,
    "test_a_runs_history_says_what_its_checkpoints_are": (*_GRAPHS, "intercepts", "three levels", "two at once"),
    "test_each_checkpoint_resumes_in_process": (
        "intercepts",
        "three levels",
        "sees kwargs",
    ),
    "test_a_nested_graph_survives_the_loss_of_its_worker_at_each_pause": (
        "intercepts",
        "three levels",
    ),
    "test_sub_workflows_are_as_built_at_every_depth": ("two_at_once",),
    "test_each_checkpoint_of_a_run_in_process_is_replayed_on_temporal": (
        "fan-in",
        "requests",
        "agents",
    ),
    "test_a_cancellation_does_what_it_does_in_process": (
        "an executor without a hook",
        "all of several",
        "one executor of two, the other answered",
        "a hook that asks again, answered",
        "a hook that fails",
        "a computer call with its companions",
        "a sub-workflow",
        "two levels of sub-workflows",
    ),
    # stores and servers that are lost, kills, races
    "test_one_link_alone_can_be_verified_and_rebuilt": (),
    "test_of_links_that_the_server_has_forgotten_it_is_told_what_is_lost_and_all_else_is_there": (),
    "test_a_worker_is_killed_between_a_response_and_its_checkpoint": ("update",),
    "test_a_run_goes_on_in_another_process_from_what_the_service_holds": ("s3",),
    "test_a_worker_that_cannot_use_the_service_says_so_and_ends": ("s3",),
    "test_attributes_of_many_runs_do_not_mix": (),
    "test_a_streaming_run_replays": (),
    "test_an_agent_in_a_model_call_longer_than_the_heartbeat_timeout_is_left_alone": (),
    "test_at_a_terminal_the_person_at_the_keyboard_decides": (),
    "test_a_worker_that_is_stopped_by_a_signal_exits_with_0": ("15",),
    "test_an_answer_is_begun_again_when_its_worker_is_lost": (),
    "test_a_request_is_answered_after_the_loss_of_the_worker": (),
    "test_a_run_that_was_terminated_in_a_later_link_is_resumed": (),
    "test_a_delivery_waits_for_a_rollback_also_where_its_executor_is_called_otherwise": (),
    "test_a_lost_store_is_rebuilt_from_the_histories_of_all_links_and_the_run_goes_on": ("two requests",),
    "test_each_checkpoint_of_each_link_opens_in_process_and_can_be_replayed_and_forked": (),
    "test_a_checkpoint_that_a_migration_made_is_verified_and_named_where_it_is_lost": (),
    "test_a_run_whose_server_was_lost_is_adopted_from_its_last_link": ("before the last link was entered",),
    "test_half_of_the_objects_are_deleted": (
        "with a base-0",
        "stowed sub-workflow-1",
    ),
    "test_an_open_run_goes_on_after_the_whole_store_was_lost_and_rebuilt": (
        "with a base",
        "sub-workflows",
    ),
    "test_a_run_whose_server_was_killed_goes_on_with_its_pending_requests": (
        "ask_once",
        "three_levels",
    ),
    "test_an_open_run_survives_the_harshest_policy_and_finishes": ("base",),
    "test_a_replay_repeats_cancellations_and_responses_at_their_places": ("two",),
    "test_each_cancellation_is_told_by_a_worker_that_has_nothing_in_memory": ("two levels",),
    "test_callers_that_race_have_their_turn_whole_or_are_refused": (),
    "test_the_same_response_by_two_doors_at_once_counts_once": ("update-signal",),
    "test_inputs_that_come_while_the_session_goes_on_are_taken_once": (),
    "test_runs_of_a_build_whose_worker_is_killed_while_it_drains_wait_for_another_of_that_build": (),
    "test_a_delivery_that_waits_for_its_graph_does_not_make_history_long": (),
    "test_a_migrated_checkpoint_can_be_looked_at_like_any_other": (),
    "test_a_thousand_requests_of_one_run_are_answered_in_batches_in_any_order": (),
    "test_agents_of_many_runs_recall_only_what_their_own_run_told_them": (),
    "test_killed_it_takes_its_processes_with_it": (),
    "test_with_temporal_address_it_uses_that_server": (),
    "test_checkpoints_of_hostile_ids_never_meet": (
        "local",
        "s3",
    ),
    # forms of one command or page
    "test_a_wrong_option_is_named": ("arguments1---workflow: module 'shop' has no 'nothing'",),
    "test_limit_keeps_the_youngest": (),
    "test_at_a_narrow_terminal_ids_go_over_several_lines_and_are_not_cut": (),
    "test_at_a_terminal_each_id_is_in_one_line_to_be_copied": (),
    "test_a_value_that_the_store_lost_is_told_in_one_line": (),
    "test_an_interrupt_ends_the_run": (),
    "test_what_is_encrypted_is_mended_with_its_codec": (),
    "test_rebuild_wants_one_workflow_id_or_all": (),
    "test_another_namespace_is_that_of_server_and_store": (),
    "test_a_codec_that_is_none_is_told": (
        "security:missing-module 'security' has no 'missing'",
        "nowhere:codec-there is no module 'nowhere'",
    ),
    "test_what_cannot_be_done_now_is_said_and_nothing_that_was_typed_is_lost": (),
    "test_who_answers_a_request_that_was_answered_meanwhile_reads_by_whom": (),
    "test_an_option_of_that_name_in_their_conftest_is_used_in_place_of_it": (),
    "test_a_malformed_response_is_refused_and_shown_the_right_form": (
        "None",
        "{'request_id': 'a'}",
        "[[]]",
    ),
    "test_an_answer_of_another_type_is_refused_and_the_request_stays_open": (
        "yes",
        "response4",
    ),
    "test_what_is_no_verdict_is_refused_and_the_run_goes_on": ("update",),
    "test_an_error_that_temporal_cannot_write_down_keeps_its_type": (
        "message",
        "ApplicationError's details",
    ),
    "test_what_does_not_fit_is_refused_in_one_line_and_nothing_is_written": (
        "raises-the migration raised LookupError: no such ledger (",
    ),
    "test_what_is_not_that_old_stays": ("1d12h",),
    "test_watch_shows_a_run_from_its_first_event_where_it_is_told_the_store": (),
    "test_commands_about_checkpoints_take_the_links_of_a_run_together": (),
    "test_attributes_of_executors_without_hooks_are_those_of_the_run": (),
    "test_another_workflow_is_refused": (),
    "test_another_graph_is_refused": (),
    "test_a_model_is_filled_in_field_by_field_and_its_list_row_by_row": (),
    "test_a_choice_is_made_among_the_members_of_an_enum": (),
    "test_it_works_without_scripts_and_declines": (),
    # orchestrations once more
    "test_a_handoff_whose_function_call_is_rejected_does_the_same_as_in_process": (),
    "test_a_workflow_from_yaml_that_waits_for_people_goes_on_with_new_workers": (),
    "test_a_chat_with_people_does_the_same_as_in_process": ("with_a_manager",),
    "test_approvals_side_by_side_do_the_same_as_in_process": ("reject",),
    "test_people_decide": (
        "approved",
        "several, the last first",
        "two done by the client",
        "beside one that needs no approval",
    ),
    "test_a_session_goes_on_when_workers_come_and_go": ("with_history",),
    "test_a_team_does_the_same_as_in_process": (
        "team",
        "limited",
        "remembering",
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
