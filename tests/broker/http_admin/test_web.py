"""The admin port over HTTP: problem documents, the token, and requests of other sites."""

import asyncio
import json

import aiohttp.web
import pytest
from structlog.testing import capture_logs

from broker.http_admin import json_parts, web
from broker.http_admin.operation import OPERATIONS, Problem
from broker.http_admin.topics import NewTopicBody, create_topic
from tests.broker.http_admin.admin_server import Site, serving_site
from tests.broker.http_admin.kafka_clients import commit, connect, leave


async def test_a_topic_is_created_and_read_over_http() -> None:
    async with serving_site() as site:
        status, made = await site.ask("POST", "/v1/topics", json={"name": "a", "partitions": 2})
        assert (status, len(made["partitions"])) == (201, 2)
        assert await site.ask("GET", "/v1/topics") == (200, [made])
        assert await site.ask("DELETE", "/v1/topics/a") == (204, "")
        assert await site.ask("GET", "/v1/topics") == (200, [])


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "detail"),
    [
        ("GET", "/nowhere", None, 404, "openapi.json"),
        ("PATCH", "/v1/clock", None, 405, "GET,PUT"),
        ("POST", "/v1/topics", b"{", 400, "invalid JSON"),
        ("POST", "/v1/topics", b"{}", 400, "name"),
        ("POST", "/v1/clock/advance", b'{"second": 3}', 400, "did you mean seconds?"),
        ("POST", "/v1/topics", b" " * 200_001, 413, "larger"),
        ("GET", "/v1/topics/a", None, 404, "no topic 'a'"),
        ("DELETE", "/v1/faults/9", None, 404, "GET /v1/faults lists them"),
        ("GET", "/v1/requests?limit=0", None, 400, "limit"),
        ("GET", "/v1/clock?x=1", None, 400, "x"),
        ("POST", "/v1/brokers/1/fence", b"{}", 400, "takes no body"),
        ("GET", "/v1/requests/events?since=-1", None, 400, "since"),
        ("POST", "/v1/faults", b"[" * 200_000, 400, "nested too deeply"),
        ("POST", "/v1/topics", b'{"name":' * 120, 400, "body"),
    ],
)
async def test_an_invalid_request_gets_a_problem_document(
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    path: str,
    body: bytes | None,
    status: int,
    detail: str,
) -> None:
    monkeypatch.setattr(web, "BODY_BYTES_MAX", 200_000)

    async with serving_site() as site:
        async with site.session.request(method, site.url + path, data=body) as response:
            assert response.status == status
            assert response.content_type == "application/problem+json"
            document = json.loads(await response.text())
        assert document["status"] == status
        assert detail in document["detail"]


async def test_all_operations_but_health_and_the_page_need_the_token() -> None:
    async with serving_site(token="sesame") as site:
        for op in OPERATIONS:
            path = op.path.replace("{", "").replace("}", "")
            status, _body = await site.ask(op.method, path)
            assert (status == 401) is not op.is_open, op.path
        for header in ("Bearer wrong", "Basic sesame", "Bearer", "sesame", "Bearer sesame2"):
            headers = {"Authorization": header}
            assert (await site.ask("GET", "/v1/clock", headers=headers))[0] == 401
        for value in (b"Bearer \xff\xfe", b"\xff", b"Bearer "):
            headers = {"Authorization": value.decode("utf-8", "surrogateescape")}
            assert (await site.ask("GET", "/v1/clock", headers=headers))[0] == 401
        headers = {"Authorization": "Bearer sesame"}
        assert (await site.ask("GET", "/v1/clock", headers=headers))[0] == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Host": "evil.example"}, 403),
        ({"Host": "evil.example:80"}, 403),
        ({"Host": "localhost:1"}, 200),
        ({"Host": "Kafka.test:1"}, 200),
        ({"Host": "192.0.2.1:1"}, 200),
        ({"Host": "[::1]:1"}, 200),
        ({"Host": "[::1]"}, 200),
    ],
)
async def test_requests_of_other_sites_are_refused(headers: dict[str, str], status: int) -> None:
    async with serving_site() as site:
        assert (await site.ask("GET", "/v1/clock", headers=headers))[0] == status


@pytest.mark.parametrize(
    ("method", "site_header", "status"),
    [
        ("POST", "cross-site", 403),
        ("POST", "same-site", 403),
        ("DELETE", "cross-site", 403),
        ("POST", "same-origin", 201),
        ("POST", "none", 201),
        ("POST", None, 201),
        ("GET", "cross-site", 200),
    ],
)
async def test_only_links_of_other_sites_are_served(
    method: str, site_header: str | None, status: int
) -> None:
    headers = {} if site_header is None else {"Sec-Fetch-Site": site_header}
    options = {"json": {"name": "a"}} if method == "POST" else {}
    async with serving_site() as site:
        found, _body = await site.ask(method, "/v1/topics", headers=headers, **options)
    assert found == status


@pytest.mark.parametrize(
    ("headers", "sent"),
    [
        ("Content-Encoding: gzip\r\nContent-Length: 5", b"hello"),
        ("Content-Encoding: deflate\r\nContent-Length: 5", b"hello"),
    ],
)
async def test_a_body_that_is_not_what_its_headers_say_is_a_400(headers: str, sent: bytes) -> None:
    async with serving_site() as site:
        with capture_logs() as logs:
            status, document = await _send_raw(site, headers, sent)
        assert (status, logs) == (400, [])
        assert "body: it is not what its headers say" in document


async def test_a_body_that_does_not_come_in_time_is_a_408(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "BODY_S_MAX", 0)
    monkeypatch.setattr(web, "LINGER_S", 0)
    async with serving_site() as site:
        status, document = await _send_raw(site, "Content-Length: 9", b"")
    assert (status, "the body did not arrive in 0 s" in document) == (408, True)


async def _send_raw(site: Site, headers: str, body: bytes) -> tuple[int, str]:
    """Send a POST as bytes; return status and body of the response."""
    reader, writer = await asyncio.open_connection("127.0.0.1", int(site.url.rpartition(":")[2]))
    head = f"POST /v1/topics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}\r\n\r\n"
    writer.write(head.encode())
    await writer.drain()
    writer.write(body)
    status = int((await reader.readline()).split()[1])
    _head, _, document = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    await writer.wait_closed()
    return status, document.decode()


async def test_requests_of_the_admin_page_are_accepted() -> None:
    async with serving_site() as site:
        assert (await site.ask("GET", "/v1/clock", headers={"Origin": site.url}))[0] == 200


async def test_the_content_security_policy_allows_only_the_files_of_the_page() -> None:
    async with serving_site() as site:
        async with site.session.get(site.url) as response:
            assert response.content_type == "text/html"
            policy = response.headers["Content-Security-Policy"]
        files = (("page.css", "text/css"), ("main.js", "text/javascript"))
        for name, content_type in files:
            async with site.session.get(f"{site.url}/page/{name}") as response:
                assert (response.status, response.content_type) == (200, content_type)
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
    assert "unsafe" not in policy


async def test_a_follower_that_disconnects_is_unsubscribed() -> None:
    async with serving_site() as site:
        journal = site.admin.journal
        url = site.url + "/v1/requests/events?api=Metadata&bodies=false"
        async with site.session.get(url) as response:
            assert response.content_type == "text/event-stream"
            _reader, writer = await connect(site.kafka_ports[0])
            text = b""
            while b"event: request" not in text or not text.endswith(b"\n\n"):
                text += await response.content.readany()
            await leave(writer)
        while journal._listeners:  # noqa: ASYNC110 - no event reports it
            await asyncio.sleep(0)


async def test_a_waiting_request_does_not_block_the_cluster() -> None:
    async with serving_site() as site:
        waiting = asyncio.create_task(site.ask("GET", "/v1/requests/wait?api=Metadata"))
        _reader, writer = await connect(site.kafka_ports[0])
        status, found = await waiting
        assert (status, found["api"]) == (200, "Metadata")
        await leave(writer)


async def test_an_exception_in_an_operation_is_a_500_and_affects_no_other_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with serving_site() as site:
        monkeypatch.setattr("broker.http_admin.state.Admin.topic", lambda *_rest: 1 / 0)
        with capture_logs() as logs:
            status, document = await site.ask("GET", "/v1/topics/a")
        assert [entry["event"] for entry in logs] == ["admin request failed"]
        assert (status, document["title"]) == (500, "Internal Server Error")
        assert (await site.ask("GET", "/healthz"))[0] == 200


async def test_others_are_served_between_two_parts_of_a_long_response(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(json_parts, "PART_BYTES", 1)
    write = aiohttp.web.StreamResponse.write
    written: list[tuple[int, bytes]] = []
    iterations = 0

    async def note(response: aiohttp.web.StreamResponse, data: bytes) -> None:
        written.append((iterations, data))
        await write(response, data)

    def count_iteration() -> None:
        nonlocal iterations
        iterations += 1
        loop.call_soon(count_iteration)

    async with serving_site() as site:
        for name in "abc":
            create_topic(site.admin, NewTopicBody(name))
        monkeypatch.setattr(aiohttp.web.StreamResponse, "write", note)
        loop = asyncio.get_running_loop()
        loop.call_soon(count_iteration)
        _status, topics = await site.ask("GET", "/v1/topics")

    assert [topic["name"] for topic in topics] == ["a", "b", "c"]
    assert json.loads(b"".join(data for _iteration, data in written)) == topics
    when = [iteration for iteration, _data in written]
    assert len(when) > 3
    assert sorted(set(when)) == when


async def test_a_stop_does_not_wait_for_followers() -> None:
    async with (
        serving_site() as site,
        site.session.get(site.url + "/v1/requests/events") as response,
    ):
        await response.content.readany()
        async with asyncio.timeout(web.SHUTDOWN_S + 5):
            await site.port.stop()


def test_a_problem_is_an_exception_with_its_status() -> None:
    assert Problem(404, "gone").status == 404


QUOTA = {"request_percentage": 1}


async def test_what_has_not_changed_is_not_sent_again() -> None:
    async with serving_site() as site:
        for path in ("/v1/topics", "/v1/search/topics", "/healthz", "/v1/faults"):
            async with site.session.get(site.url + path) as response:
                etag, body = response.headers["ETag"], await response.read()
            assert body
            for known in (etag, f'"other", {etag}', f"W/{etag}"):
                headers = {"If-None-Match": known}
                async with site.session.get(site.url + path, headers=headers) as response:
                    assert (response.status, await response.read()) == (304, b"")
                    assert response.headers["ETag"] == etag
            headers = {"If-None-Match": '"other"'}
            async with site.session.get(site.url + path, headers=headers) as response:
                assert (response.status, await response.read()) == (200, body)
        async with site.session.get(site.url + "/") as response:
            assert "ETag" not in response.headers


@pytest.mark.parametrize(
    ("path", "method", "changed", "body"),
    [
        ("topics", "POST", "/v1/topics", {"name": "b"}),
        ("topics", "DELETE", "/v1/topics/a", None),
        ("topics", "POST", "/v1/topics/a/records", {"records": [{"value": "1"}]}),
        ("topics", "PATCH", "/v1/topics/a/config", {"config": {"retention.ms": "1"}}),
        ("topics", "PUT", "/v1/topics/a/partitions/0/leader", {"broker": None}),
        ("topics", "POST", "/v1/brokers/1/stop", {}),
        ("search/topics", "POST", "/v1/topics/a/records", {"records": [{"value": "1"}]}),
        ("search/topics?limit=0", "POST", "/v1/topics", {"name": "b"}),
        ("topics/a/records", "POST", "/v1/topics/a/records", {"records": [{"value": "1"}]}),
        ("brokers", "POST", "/v1/brokers/1/stop", {}),
        ("clock", "POST", "/v1/clock/advance", {"ms": 1}),
        ("faults", "POST", "/v1/faults", {"delay_ms": 1}),
        ("quotas", "PUT", "/v1/quotas", {"entity": {"user": "a"}, "values": QUOTA}),
        ("topics", "POST", "/v1/reset", {}),
    ],
)  # fmt: skip
async def test_each_kind_of_change_alters_the_etag(
    path: str, method: str, changed: str, body: object
) -> None:
    async with serving_site() as site:
        create_topic(site.admin, NewTopicBody("a", 1, 3))
        url = f"{site.url}/v1/{path}"
        async with site.session.get(url) as response:
            before, etag = await response.read(), response.headers["ETag"]
        status, _ = await site.ask(method, changed, **({} if body is None else {"json": body}))
        assert status < 300
        async with site.session.get(url, headers={"If-None-Match": etag}) as response:
            assert (response.status, await response.read() != before) == (200, True)
            assert response.headers["ETag"] != etag


async def test_a_change_of_a_group_alters_its_etag() -> None:
    async with serving_site() as site:
        create_topic(site.admin, NewTopicBody("a"))
        etags = []
        for offset in (1, 2):
            commit(site.admin, "billing", "a", offset)
            async with site.session.get(f"{site.url}/v1/search/groups") as response:
                etags.append(response.headers["ETag"])
        await site.ask("DELETE", "/v1/groups/billing")
        async with site.session.get(f"{site.url}/v1/search/groups") as response:
            etags.append(response.headers["ETag"])
        assert len(set(etags)) == len(etags)
