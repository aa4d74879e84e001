"""How messages are shown: JSON, text, bytes, hidden characters, and their timestamps."""

import json
import re
import subprocess
import sys
from pathlib import Path

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from playwright.sync_api import Page, expect

from tests.interop.admin_page.accessibility import Accessibility
from tests.interop.admin_page.served_cluster import PRODUCE, Cluster

WRITTEN = '{"big":12345678901234567890123,"f":1.10,"u":"\\u00e9","2":0,"1":[],"word":null}'
LAID_OUT = (
    '{\n  "big": 12345678901234567890123,\n  "f": 1.10,\n  "u": "\\u00e9",'
    '\n  "2": 0,\n  "1": [],\n  "word": null\n}'
)
BINARY = bytes(range(256)) * 100


def test_json_keeps_its_digits_its_escapes_and_its_order(
    cluster: Cluster, page: Page, accessibility: Accessibility
) -> None:
    cluster.produce("checkout", "orders", WRITTEN.encode())
    (record,) = cluster.ask("GET", "/v1/topics/orders/records")["records"]
    page.goto(f"{cluster.url}/#/topics/orders/{record['partition']}/0")
    value = page.locator(".message pre").nth(1)
    expect(value).to_have_text(LAID_OUT, use_inner_text=True)
    expect(value.locator(".json-number")).to_have_text(["12345678901234567890123", "1.10", "0"])
    expect(value.locator(".json-key").first).to_have_text('"big"')
    accessibility.check(page)
    page.get_by_role("button", name="Text", exact=True).click()
    expect(value).to_have_text(WRITTEN)


def test_numbers_of_64_bits_in_a_request_keep_their_digits(cluster: Cluster, page: Page) -> None:
    members = "async (text) => [...(await import('/page/json.js')).jsonMembers(text)]"
    found = page.evaluate(members, '{"id":9223372036854775807,"in":{"a":1,"b":[2,3]},"s":","}')
    assert found == [["id", "9223372036854775807"], ["in", '{"a":1,"b":[2,3]}'], ["s", '","']]

    cluster.produce("checkout", "orders", b"one coffee")
    consumer = KafkaConsumer(bootstrap_servers=cluster.bootstrap_servers)
    consumer.offsets_for_times({TopicPartition("orders", 0): 2**62 + 1})
    consumer.close()
    page.locator("#lines tr", has_text="ListOffsets").first.get_by_role("button").click()
    expect(page.locator("#detail")).to_contain_text('"timestamp": 4611686018427387905')


def test_binary_values_are_hex_with_their_size_and_can_be_downloaded(
    cluster: Cluster, page: Page, accessibility: Accessibility, tmp_path: Path
) -> None:
    cluster.produce("checkout", "orders", BINARY)
    (record,) = cluster.ask("GET", "/v1/topics/orders/records")["records"]
    page.goto(f"{cluster.url}/#/topics/orders/{record['partition']}/0")
    row = page.locator(".messages tbody tr").first
    expect(row).to_contain_text("00 01 02 03")
    expect(row).to_contain_text("25 KiB of binary data")
    expect(page.locator(".message")).to_contain_text("25 KiB")
    dump = page.locator(".message pre").nth(1)
    expect(dump).to_contain_text("00000040  40 41 42 43")
    expect(dump).to_contain_text("|@ABCDEFGHIJKLMNO|")
    expect(dump).to_contain_text("The first 16 KiB of 25 KiB")
    accessibility.check(page)
    with page.expect_download() as downloaded:
        page.get_by_role("button", name="Download the value").click()
    file = downloaded.value
    assert file.suggested_filename == f"orders-{record['partition']}-0-value.bin"
    file.save_as(tmp_path / "value")
    assert (tmp_path / "value").read_bytes() == BINARY

    # Text that holds a binary number is valid UTF-8.
    page.get_by_role("button", name="Hex", exact=True).click()
    expect(page.locator(".message pre").first).to_contain_text("63 75 73 74 6f 6d 65 72")


def test_characters_that_change_the_order_of_others_are_visible(
    cluster: Cluster, page: Page
) -> None:
    name = "invoice\u202egpj.exe"
    cluster.produce(name, "orders", f'"\u2066{name}"'.encode())
    (record,) = cluster.ask("GET", "/v1/topics/orders/records")["records"]
    page.goto(f"{cluster.url}/#/topics/orders/{record['partition']}/0")
    expect(page.locator(".message pre").nth(1)).to_have_text('"U+2066invoiceU+202Egpj.exe"')
    expect(page.locator(".message .hidden-character")).to_have_text(["U+2066", "U+202E"])
    client = page.locator("#lines tr", has_text=PRODUCE).locator("td.name").first
    expect(client).to_have_text("invoiceU+202Egpj.exe")
    hidden = re.compile("[\u202a-\u202e\u2066-\u2069]")
    assert not hidden.search(page.locator("body").inner_text())
    titles = page.locator("#lines td.name").evaluate_all("(cells) => cells.map((c) => c.title)")
    assert not hidden.search(json.dumps(titles, ensure_ascii=False))


def test_times_that_are_none_are_not_shown_as_dates(cluster: Cluster, page: Page) -> None:
    dates = (
        "async (times) => { const f = await import('/page/format.js'); return times.map(f.%s); }"
    )
    none_far_early = [-1, 9e15, -86_400_000]
    texts = page.evaluate(dates % "timestampText", none_far_early)
    assert texts[:2] == ["no timestamp", "9000000000000000 ms"]
    assert texts[2].startswith("1969-12-3")
    assert page.evaluate(dates % "dateText", none_far_early)[:2] == texts[:2]

    producer = KafkaProducer(bootstrap_servers=cluster.bootstrap_servers)
    for timestamp_ms in (-1, -86_400_000):
        producer.send("orders", b"old", timestamp_ms=timestamp_ms, partition=0).get(20)
    producer.close()
    stored = [r["timestamp"] for r in cluster.ask("GET", "/v1/topics/orders/records")["records"]]
    assert stored == [-1, -86_400_000]
    page.goto(f"{cluster.url}/#/topics/orders")
    times = page.locator(".messages tbody tr td:nth-child(2)")
    expect(times).to_have_text([re.compile(r"^1969-12-3\d \d\d:\d\d:\d\d$"), "no timestamp"])
    assert "NaN" not in page.locator("body").inner_text()


def test_messages_are_sought_by_offset_and_by_time(
    cluster: Cluster, page: Page, accessibility: Accessibility
) -> None:
    cluster.ask("POST", "/v1/topics", {"name": "orders", "partitions": 1})
    hour_ms = 3_600_000
    noon_ms = page.evaluate("Date.parse('2026-01-15T12:00:00')")
    records = [{"value": f"at {hour}", "timestamp": noon_ms + hour * hour_ms} for hour in range(80)]
    cluster.ask("POST", "/v1/topics/orders/records", {"records": records})
    page.goto(f"{cluster.url}/#/topics/orders")
    values = page.locator(".messages tbody tr td:nth-child(4)")
    expect(values.first).to_have_text("at 79")
    page.get_by_label("Show messages from this offset on").fill("7")
    expect(values).to_have_text([f"at {hour}" for hour in range(7, 57)])
    accessibility.check(page)
    page.get_by_role("button", name="Newer messages").click()
    expect(values).to_have_text([f"at {hour}" for hour in range(57, 80)])
    page.get_by_role("button", name="Older messages").click()
    expect(values.first).to_have_text("at 7")
    page.get_by_label("Show messages from this time on").fill("2026-01-17T12:30:00")
    expect(values.first).to_have_text("at 49")
    expect(values.last).to_have_text("at 79")
    expect(page.get_by_label("Show messages from this offset on")).to_have_value("")
    page.get_by_label("Show messages from this time on").fill("2027-01-17T12:30:00")
    expect(page.locator(".messages")).to_have_text("No record from there on.")
    page.get_by_label("Show messages from this time on").fill("")
    expect(values.first).to_have_text("at 79")


def test_messages_are_paged_and_the_newest_come_live(
    cluster: Cluster, page: Page, accessibility: Accessibility
) -> None:
    cluster.ask("POST", "/v1/topics", {"name": "orders", "partitions": 3, "replication_factor": 1})
    records = [
        {
            "value": f"order {n}",
            "key": f"customer {n % 4}",
            "partition": n % 3,
            "timestamp": 1000 + n,
        }
        for n in range(120)
    ]
    cluster.ask("POST", "/v1/topics/orders/records", {"records": records})
    page.goto(f"{cluster.url}/#/topics/orders")
    values = page.locator(".messages tbody tr td:nth-child(4)")
    expect(values).to_have_text([f"order {n}" for n in range(119, 69, -1)])
    older, newer = (
        page.get_by_role("button", name=name) for name in ("Older messages", "Newer messages")
    )
    expect(newer).to_be_disabled()
    older.click()
    expect(values).to_have_text([f"order {n}" for n in range(69, 19, -1)])
    live = page.get_by_role("button", name="Live")
    expect(live).to_have_attribute("aria-pressed", "false")
    older.click()
    expect(values).to_have_text([f"order {n}" for n in range(19, -1, -1)])
    expect(older).to_be_disabled()
    accessibility.check(page)

    # An older page stands while messages come, and the first page has them.
    added = {"records": [{"value": "the newest", "partition": 0}]}
    cluster.ask("POST", "/v1/topics/orders/records", added)
    expect(page.locator("#topics .topic")).to_contain_text("121 records")
    expect(values.first).to_have_text("order 19")
    live.click()
    expect(values.first).to_have_text("the newest")
    live.click()
    expect(live).to_have_attribute("aria-pressed", "false")
    cluster.ask("POST", "/v1/topics/orders/records", added)
    expect(page.locator("#topics .topic")).to_contain_text("122 records")
    expect(values.nth(1)).to_have_text("order 119")
    live.click()
    expect(values.nth(1)).to_have_text("the newest")

    page.get_by_label("Where the text is").select_option("in the key")
    page.get_by_label("Filter messages").fill("customer 3")
    expect(values).to_have_text([f"order {n}" for n in range(119, 0, -4)])
    page.get_by_label("Filter messages").fill("order")
    expect(page.locator(".messages")).to_contain_text("No message has this text.")
    page.get_by_label("Where the text is").select_option("in the value")
    page.get_by_label("Show messages from this offset on").fill("38")
    expect(values).to_have_text([f"order {n}" for n in range(114, 120)])


RUN_AS_SHELL = ("sh", "-c")


def test_a_message_is_copied_as_a_command_that_stores_it_again(
    cluster: Cluster, page: Page, accessibility: Accessibility
) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=cluster.url)
    cluster.ask("POST", "/v1/topics", {"name": "orders", "partitions": 2, "replication_factor": 1})
    record = {
        "key": "it's",
        "value": {"base64": "AAECAw=="},
        "headers": [{"key": "trace", "value": '"7"'}],
        "partition": 1,
    }
    cluster.ask("POST", "/v1/topics/orders/records", {"records": [record]})
    page.goto(f"{cluster.url}/#/topics/orders/1/0")
    for count, (name, command) in enumerate(
        (("Copy as curl", RUN_AS_SHELL), ("Copy as Python", (sys.executable, "-c"))), start=2
    ):
        page.get_by_role("button", name=name).click()
        expect(page.locator("#notice")).to_have_text("Copied.")
        text = page.evaluate("navigator.clipboard.readText()")
        subprocess.run([*command, text], check=True, capture_output=True, timeout=60)
        records = cluster.ask("GET", "/v1/topics/orders/records?partition=1")["records"]
        assert len(records) == count
        parts = ("key", "value", "headers")
        assert [records[0][part] for part in parts] == [records[-1][part] for part in parts]

    # Without a clipboard the text is shown.
    page.evaluate(
        "() => { navigator.clipboard.writeText = () => Promise.reject(new Error('no')); }"
    )
    page.get_by_role("button", name="Copy as curl").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("Text to copy")).to_have_value(re.compile("^curl -X POST"))
    accessibility.check(page)
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()


def test_a_message_is_edited_and_produced_again(cluster: Cluster, page: Page) -> None:
    headers = [{"key": "trace", "value": "7"}]
    record = {"key": "k", "value": "one coffee", "headers": headers, "partition": 0}
    cluster.ask("POST", "/v1/topics/orders/records", {"records": [record]})
    page.goto(f"{cluster.url}/#/topics/orders/0/0")
    page.get_by_role("button", name="Edit and produce").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("Headers")).to_have_value("trace: 7")
    dialog.get_by_label("Value", exact=True).fill("one tea")
    dialog.get_by_role("button", name="Produce").click()
    expect(dialog).to_be_hidden()
    records = cluster.ask("GET", "/v1/topics/orders/records?partition=0")["records"]
    assert [stored["value"] for stored in records] == [{"text": "one coffee"}, {"text": "one tea"}]
    assert records[0]["headers"] == records[1]["headers"]
    assert records[1]["key"] == {"text": "k"}


def test_json_is_folded(page: Page) -> None:
    layout = """
      async (text) => {
        const { jsonParts } = await import('/page/json.js');
        const pre = document.createElement('pre');
        pre.append(...jsonParts(text));
        pre.id = 'laid-out';
        document.body.append(pre);
      }
    """
    page.evaluate(layout, '{"a":{"b":[1,{}],"c":[]},"d":2}')
    pre = page.locator("#laid-out")
    laid_out = '{\n  "a": {\n    "b": [\n      1,\n      {}\n    ],\n    "c": []\n  },\n  "d": 2\n}'
    expect(pre).to_have_text(laid_out, use_inner_text=True)
    folds = pre.get_by_role("button")
    expect(folds).to_have_count(3)
    folds.nth(1).click()
    expect(pre).to_have_text('{\n  "a": {},\n  "d": 2\n}', use_inner_text=True)
    folds.nth(1).click()
    expect(pre).to_have_text(laid_out, use_inner_text=True)


def test_records_of_a_topic_are_deleted(
    cluster: Cluster, page: Page, accessibility: Accessibility
) -> None:
    cluster.ask("POST", "/v1/topics", {"name": "orders", "partitions": 1})
    records = {"records": [{"value": str(number)} for number in range(5)]}
    cluster.ask("POST", "/v1/topics/orders/records", records)
    page.goto(f"{cluster.url}/#/topics/orders")
    rows = page.locator(".messages tbody tr")
    expect(rows).to_have_count(5)
    page.get_by_role("button", name="Delete records").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Before offset").fill("9")
    accessibility.check(page)
    with page.expect_response(lambda response: response.status == 422):
        dialog.get_by_role("button", name="Delete").click()
    expect(dialog.get_by_role("alert")).to_contain_text("OFFSET_OUT_OF_RANGE")
    dialog.get_by_label("Before offset").fill("3")
    dialog.get_by_role("button", name="Delete").click()
    expect(rows).to_have_count(2)
    page.get_by_role("button", name="Delete records").click()
    dialog.get_by_role("button", name="Delete").click()
    expect(page.locator(".messages")).to_have_text("No records.")
    assert cluster.ask("GET", "/v1/topics/orders")["partitions"][0]["log_start_offset"] == 5
