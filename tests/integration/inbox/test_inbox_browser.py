"""The inbox in a real browser: what people do with it, and what others try with it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from playwright.async_api import expect

from .conftest import Desk, Person

ACCEPTED = "Your answer was accepted."
EVIL = "</script></textarea><script>alert(1)</script><img src=x onerror=alert(2)>\"'{{7*7}}"


async def test_from_the_list_to_an_approval_with_name_and_comment(desk: Desk, people: Any) -> None:
    asked = await desk.ask(
        "bool", "May Ada travel?", {"lines": [{"what": "train", "cost": 80}, {"what": "inn", "cost": 90}]}
    )
    ada: Person = await people()
    await ada.open("/")
    await ada.page.get_by_role("link", name="May Ada travel?").click()
    assert "train" in await ada.text("#asked table")
    await ada.reads("#graph svg", "waits for a response")
    await ada.page.fill("#responder", "Ada")
    await ada.page.fill("#comment", "Bon voyage.\nTake the train.")
    await ada.page.get_by_role("button", name="Approve").click()
    await ada.reads("#fate", ACCEPTED)
    await ada.reads("#outcome", "Ada answered")
    await ada.reads("#answers", "Take the train.")
    assert await asked.result() == ["True"]
    assert await asked.trail() == [("accepted", "Ada", "Bon voyage.\nTake the train.")]


async def test_it_works_without_scripts_and_declines(desk: Desk, people: Any) -> None:
    asked = await desk.ask("bool")
    plain: Person = await people(java_script_enabled=False)
    await plain.open(asked.path)
    await plain.page.get_by_role("button", name="Decline").click()
    await plain.reads("#fate", ACCEPTED)
    assert await asked.result() == ["False"]


async def test_enter_in_a_field_approves_nothing(desk: Desk, people: Any) -> None:
    asked = await desk.ask("bool")
    ada: Person = await people()
    await ada.open(asked.path)
    await ada.page.fill("#responder", "Ada")
    await ada.page.press("#responder", "Enter")
    await ada.page.get_by_role("button", name="Decline").click()
    await ada.reads("#fate", ACCEPTED)
    assert await asked.result() == ["False"]


async def test_a_choice_is_made_among_the_members_of_an_enum(desk: Desk, people: Any) -> None:
    asked = await desk.ask("colour")
    ada: Person = await people()
    await ada.open(asked.path)
    await ada.page.get_by_role("button", name="Send answer").click()
    await ada.reads("#fate", "Not everything is filled in")
    await ada.page.get_by_label("red").check()
    await ada.page.get_by_role("button", name="Send answer").click()
    await ada.reads("#fate", ACCEPTED)
    assert await asked.result() == ["RED"]


async def test_a_model_is_filled_in_field_by_field_and_its_list_row_by_row(desk: Desk, people: Any) -> None:
    asked = await desk.ask("order")
    ada: Person = await people()
    await ada.open(asked.path)
    page = ada.page
    await page.get_by_label("Customer").fill("Ada & Co.")
    await page.get_by_label("Count").fill("3")
    await page.get_by_role("group", name="Urgent").get_by_label("Yes").check()
    await page.get_by_label("Due").fill("2026-02-03")
    await page.get_by_label("At in UTC").fill("2026-02-03T10:30")
    for row in range(2):
        await page.get_by_role("button", name="Add an entry").click()
        await page.locator(f'[name="response/lines/{row}/name"]').fill(f"line {row}")
        await page.locator(f'[name="response/lines/{row}/amount"]').fill("1.5")
    await page.get_by_role("button", name="Remove entry 1").click()
    await page.locator('[name="response/lines/1/name"]').wait_for(state="detached")
    await page.get_by_role("button", name="Send answer").click()
    await ada.reads("#fate", ACCEPTED)
    [answer] = await asked.result()
    assert json.loads(answer) == {
        "customer": "Ada & Co.",
        "count": 3,
        "urgent": True,
        "colour": "green",
        "due": "2026-02-03",
        "at": "2026-02-03T10:30:00Z",
        "address": None,
        "lines": [{"name": "line 1", "amount": 1.5, "paid": False}],
    }


async def test_a_refused_answer_is_explained_and_nothing_that_was_typed_is_lost(desk: Desk, people: Any) -> None:
    asked = await desk.ask("any")
    ada: Person = await people()
    await ada.open(asked.path)
    await ada.page.fill("#responder", "Ada")
    await ada.page.fill("#comment", "as counted")
    await ada.page.get_by_label("JSON").fill('{"pens": "many"}')
    await ada.page.get_by_role("button", name="Send answer").click()
    await ada.reads("#fate", asked.request_id, "dict[str, int]", "many")
    assert await ada.page.get_by_label("JSON").input_value() == '{"pens": "many"}'
    assert await ada.page.input_value("#responder") == "Ada"
    assert await ada.page.input_value("#comment") == "as counted"
    await ada.page.get_by_label("JSON").fill('{"pens": 3}')
    await ada.page.get_by_role("button", name="Send answer").click()
    await ada.reads("#fate", ACCEPTED)
    assert await asked.result() == ["{'pens': 3}"]


async def test_what_cannot_be_done_now_is_said_and_nothing_that_was_typed_is_lost(desk: Desk, people: Any) -> None:
    asked = await desk.ask("text")
    ada: Person = await people()
    await ada.open(asked.path)
    await ada.page.get_by_label("Answer").first.fill("a long answer")
    await ada.page.evaluate("document.getElementById('answer').setAttribute('hx-post', '/runs/gone/requests/r')")
    await ada.page.evaluate("htmx.process(document.getElementById('answer'))")
    await ada.page.get_by_role("button", name="Send answer").click()
    await ada.reads("#trouble", "There is no run with workflow id 'gone'")
    assert await ada.page.get_by_label("Answer").first.input_value() == "a long answer"
    await expect(ada.page.get_by_role("button", name="Send answer")).to_be_enabled()


async def test_of_two_people_one_wins_and_the_other_reads_who_did(desk: Desk, people: Any) -> None:
    asked = await desk.ask("text")
    both: list[Person] = [await people(), await people()]
    for person, name in zip(both, ("Ada", "Bob"), strict=True):
        await person.open(asked.path)
        await person.page.fill("#responder", name)
        await person.page.get_by_label("Answer").first.fill(f"as {name} says")
    await asyncio.gather(*(one.page.get_by_role("button", name="Send answer").click() for one in both))
    fates = [await one.text("#fate") for one in both]
    assert sorted(fates, key=len)[0] == ACCEPTED
    winner, loser = ("Ada", "Bob") if fates[0] == ACCEPTED else ("Bob", "Ada")
    late = both[1 if winner == "Ada" else 0]
    await late.reads("#fate", f"Your answer came too late. {winner} answered")
    await late.reads("#typed", f"as {loser} says")
    await late.reads("#outcome", f"as {winner} says")
    assert await asked.result() == [f"as {winner} says"]


async def test_who_answers_a_request_that_was_answered_meanwhile_reads_by_whom(desk: Desk, people: Any) -> None:
    asked = await desk.ask("bool")
    bob: Person = await people()
    await bob.open(asked.path)
    await asked.run.respond(asked.request_id, True, responder="Ada")
    await bob.page.fill("#responder", "Bob")
    await bob.page.get_by_role("button", name="Approve").click()
    await bob.reads("#fate", "Your answer came too late. Ada answered")
    assert await asked.trail() == [("accepted", "Ada", None)]


async def test_hostile_data_is_text(desk: Desk, people: Any) -> None:
    asked = await desk.ask("text", EVIL, {EVIL: [EVIL, {"a": EVIL, "b": 1}]}, id="<b>'\"&/../%2F?#")
    ada: Person = await people()
    await ada.open("/")
    await ada.page.locator(f'a[href="{asked.path}"]').click()
    assert EVIL in await ada.text("#asked")
    await ada.page.fill("#responder", EVIL)
    await ada.page.fill("#comment", EVIL)
    await ada.page.get_by_label("Answer").first.fill(EVIL)
    await ada.page.get_by_role("button", name="Send answer").click()
    await ada.reads("#fate", ACCEPTED)
    assert (await ada.text("#outcome")).count(EVIL) == 3
    assert await ada.page.locator("main script, main img").count() == 0
    assert await asked.result() == [EVIL]


async def test_a_page_of_another_site_can_neither_read_nor_answer_nor_frame_it(
    desk: Desk, people: Any, inbox: str, other_site: str
) -> None:
    asked = await desk.ask("bool")
    target = f"{inbox}{asked.path}"
    victim: Person = await people()
    await victim.page.goto(other_site)
    read = "url => fetch(url).then(() => 'read', () => 'could not')"
    assert await victim.page.evaluate(read, f"{inbox}/api/requests") == "could not"
    framed = "url => { document.body.innerHTML = `<iframe src='${url}'></iframe>` }"
    async with victim.page.expect_console_message(lambda line: "frame-ancestors" in line.text):
        await victim.page.evaluate(framed, target)
    form = """url => { document.body.innerHTML =
        `<form method="post" action="${url}"><button name="response" value="true">Win a prize</button></form>` }"""
    await victim.page.evaluate(form, target)
    await victim.page.get_by_role("button").click()
    await victim.reads("body", "another site")
    assert victim.page.url == target
    assert [one.request_id for one in await asked.run.open_requests()] == [asked.request_id]
    victim.complaints.clear()  # the browser says of each of these that it kept it from happening
