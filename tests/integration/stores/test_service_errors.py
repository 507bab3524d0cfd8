"""A service that cannot be used says so when it is probed: which URL, what is wrong, what to do, and no secret."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from temporal_adapter import BlobStore, StoreError
from tests.support.stores import Service, only_known_keys

WRONG_KEY = "c2VjcmV0LWtleQ=="

# Nothing listens on the port that is meant for tests of it.
NO_SERVER = "http://127.0.0.1:1"

AT_ONCE = {"max_retries": 0, "retry_timeout": timedelta(seconds=1)}

FIX = "such as AWS_ACCESS_KEY_ID, AZURE_STORAGE_ACCOUNT_KEY or GOOGLE_SERVICE_ACCOUNT."


@pytest.fixture(params=["s3", "azure"])
def service(request: pytest.FixtureRequest) -> Service:
    return request.getfixturevalue(f"{request.param}_service")


async def refusal(url: str, options: dict[str, Any]) -> str:
    """Probe a store that cannot be used; return what it says."""
    with pytest.raises(StoreError) as raised:
        await BlobStore(url, **options).probe()
    return str(raised.value)


async def test_a_bucket_that_does_not_exist(service: Service) -> None:
    url = f"{service.url}-of-others/below"

    message = await refusal(url, service.options)

    assert re.match(rf"The blob store {url} cannot be used: .*404", message)
    assert message.endswith(FIX)


async def test_a_key_that_the_s3_api_does_not_know(s3_service: Service) -> None:
    options = {**s3_service.options, "aws_secret_access_key": WRONG_KEY}
    with only_known_keys(s3_service):
        message = await refusal(s3_service.url, options)

    assert re.match(r"The blob store s3://checkpoints cannot be used: .*403", message)
    assert message.endswith(FIX)
    assert WRONG_KEY not in message
    assert options["aws_access_key_id"] not in message


async def test_a_wrong_key_of_an_azure_account(azure_service: Service) -> None:
    message = await refusal(azure_service.url, {**azure_service.options, "azure_storage_account_key": WRONG_KEY})

    assert re.match(r"The blob store az://checkpoints cannot be used: .*403", message)
    assert message.endswith(FIX)
    assert WRONG_KEY not in message


async def test_a_shared_access_signature_that_is_not_valid_is_not_shown(azure_service: Service) -> None:
    options = {name: value for name, value in azure_service.options.items() if name != "azure_storage_account_key"}
    signature = "sv=2024-11-04&sp=racwdl&sr=c&sig=c2lnbmF0dXJl"

    message = await refusal(azure_service.url, {**options, "azure_storage_sas_key": signature})

    assert "403" in message
    assert "c2lnbmF0dXJl" not in message


@pytest.mark.parametrize(
    ("url", "options"),
    [
        ("s3://bucket", {"aws_access_key_id": "id", "aws_secret_access_key": WRONG_KEY, "aws_endpoint": NO_SERVER}),
        (
            "az://container",
            {
                "azure_storage_account_name": "account",
                "azure_storage_account_key": WRONG_KEY,
                "azure_storage_endpoint": NO_SERVER,
            },
        ),
    ],
    ids=["s3", "azure"],
)
async def test_no_server(url: str, options: dict[str, Any]) -> None:
    message = await refusal(url, {**options, "client_options": {"allow_http": True}, "retry_config": AT_ONCE})

    assert message.startswith(f"The blob store {url} cannot be used: ")
    assert NO_SERVER in message
    assert message.endswith(FIX)
    assert WRONG_KEY not in message


async def test_the_services_own_word_for_it_is_told_and_not_its_xml(service: Service) -> None:
    message = await refusal(f"{service.url}-of-others/below", service.options)

    assert re.search(r"\((NoSuchBucket|ContainerNotFound)\)", message)
    assert "<?xml" not in message


def test_an_option_of_the_wrong_kind_does_not_open() -> None:
    with pytest.raises(StoreError, match="s3://bucket cannot be opened: Expected config"):
        BlobStore("s3://bucket", aws_allow_http="true")


def test_a_password_in_an_http_url_is_refused_and_not_shown() -> None:
    with pytest.raises(StoreError, match="http://host/path cannot be opened: the URL has user information") as raised:
        BlobStore("http://user:pass-word@host/path")
    assert "pass-word" not in str(raised.value)


async def test_user_information_and_query_of_a_url_are_not_shown(s3_service: Service) -> None:
    url = s3_service.url.replace("://checkpoints", "://user:pass-word@nowhere/below?token=pass-word")

    message = await refusal(url, s3_service.options)

    assert message.startswith("The blob store s3://nowhere/below cannot be used: ")
    assert "pass-word" not in message


def test_an_azure_url_without_an_account_does_not_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AZURE_STORAGE_ACCOUNT_NAME", raising=False)

    with pytest.raises(StoreError, match=r"The blob store az://container cannot be opened: .*Account"):
        BlobStore("az://container")


# --- Google Cloud Storage: there is no server of its API to test against, so this is what can be seen without one ---


async def test_a_gs_url_opens_without_credentials_and_its_probe_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("GOOGLE_SERVICE_ACCOUNT", "GOOGLE_SERVICE_ACCOUNT_KEY", "GOOGLE_APPLICATION_CREDENTIALS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/nonexistent")  # where gcloud keeps a person's

    # Without credentials, those of the machine are asked for, and this machine has none.
    options = {"retry_config": AT_ONCE, "client_options": {"connect_timeout": "1s", "timeout": "1s"}}
    message = await refusal("gs://bucket/below", options)

    assert message.startswith("The blob store gs://bucket/below cannot be used: ")
    assert "token" in message
    assert message.endswith(FIX)


def test_a_gs_url_with_a_service_account_that_is_not_there_names_the_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GOOGLE_SERVICE_ACCOUNT", str(tmp_path / "account.json"))

    with pytest.raises(StoreError, match=rf"gs://bucket cannot be opened: .*{tmp_path}/account.json"):
        BlobStore("gs://bucket")
