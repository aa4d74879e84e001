"""`MockKafkaContainer` on a process with mapped ports, and the snippets of docs/containers.md."""

import json
import re
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from types import ModuleType

import pytest
from kafka import KafkaProducer

from broker.http_admin import web  # noqa: F401 - declares all operations
from broker.http_admin.operation import OPERATIONS
from mock_kafka import ConfigValue, containers
from mock_kafka.containers import MockKafkaContainer
from mock_kafka.control import Control
from mock_kafka.health import wait_until_healthy
from tests.mock_kafka.process_container import ProcessContainer

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "containers.md"


@pytest.fixture
def _processes(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("testcontainers.core.container")
    vars(module)["DockerContainer"] = ProcessContainer
    for name in ("testcontainers", "testcontainers.core"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, module.__name__, module)


def snippet(language: str) -> str:
    [text] = re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    return str(text)


@pytest.mark.slow
@pytest.mark.interop
@pytest.mark.usefixtures("_processes")
def test_clients_use_the_mapped_ports_of_all_brokers() -> None:
    config: dict[str, ConfigValue] = {"num.partitions": 3, "broker.admin.token": "s3cret"}
    with MockKafkaContainer(brokers=3, config=config) as kafka:
        producer = KafkaProducer(bootstrap_servers=kafka.bootstrap_servers.split(",")[0])
        for partition in range(3):
            producer.send("orders", b"one coffee", partition=partition).get(30)
        producer.close()
        assert len(kafka.records("orders")) == 3
        views = kafka.control.ask("GET", "/v1/brokers")
        addresses = [f"{view['host']}:{view['port']}" for view in views]
        assert addresses == kafka.bootstrap_servers.split(",")
        assert repr(kafka) == f"<MockKafkaContainer {kafka.bootstrap_servers}>"
    with pytest.raises(RuntimeError, match="the container is not running"):
        _ = kafka.bootstrap_servers


@pytest.mark.slow
@pytest.mark.usefixtures("_processes")
def test_a_cluster_that_does_not_start_shows_its_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(containers, "START_TIMEOUT_S", 0.5)
    kafka = MockKafkaContainer(config={"num.partitons": 3})
    with pytest.raises(ConnectionError, match=r"did you mean num\.partitions"):
        kafka.start()
    assert repr(kafka) == "<MockKafkaContainer not started>"


@pytest.mark.long
def test_the_python_example_passes(pytester: pytest.Pytester) -> None:
    package = pytester.mkpydir("testcontainers") / "core"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "container.py").write_text(
        f"import sys\nsys.path.append({str(ROOT)!r})\n"
        "from tests.mock_kafka.process_container import ProcessContainer as DockerContainer\n"
    )
    pytester.makepyfile(test_example=snippet("python"))
    pytester.runpytest_subprocess("--strict-markers").assert_outcomes(passed=1)


@pytest.mark.parametrize("language", ["go", "javascript"])
def test_a_snippet_waits_for_the_port_and_advertises_the_mapped_one(language: str) -> None:
    text = snippet(language)
    paths = {operation.path for operation in OPERATIONS}
    for path in ("/healthz", "/v1/brokers/1/advertised"):
        assert path in text
        assert path.replace("/1/", "/{node_id}/") in paths
    for word in ("PUT", "host", "port", "9092", "9099"):
        assert word in text


@pytest.mark.interop
@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node here")
def test_the_snippet_for_node_advertises_the_mapped_port(tmp_path: Path) -> None:
    """The library is a stand-in whose container is a running process behind a forwarder."""
    container = ProcessContainer("mock-kafka").with_exposed_ports(9092, 9099).start()
    ports = {port: container.get_exposed_port(port) for port in (9092, 9099)}
    package = tmp_path / "node_modules" / "testcontainers"
    package.mkdir(parents=True)
    (package / "package.json").write_text('{"type": "module", "main": "index.js"}')
    (package / "index.js").write_text(
        f"""
const ports = {json.dumps(ports)};
export const Wait = {{ forHttp: (path, port) => ({{ path, port }}) }};
export class GenericContainer {{
  withExposedPorts() {{ return this; }}
  withWaitStrategy() {{ return this; }}
  async start() {{
    return {{ getHost: () => "localhost", getMappedPort: (port) => ports[port], stop() {{}} }};
  }}
}}
"""
    )
    (tmp_path / "snippet.mjs").write_text(snippet("javascript"))
    (tmp_path / "main.mjs").write_text(
        'import { startMockKafka } from "./snippet.mjs";\n'
        "const { brokers, admin } = await startMockKafka();\n"
        "const [broker] = await (await fetch(`${admin}/v1/brokers`)).json();\n"
        "console.log(brokers[0] === `${broker.host}:${broker.port}`, broker.port);\n"
    )
    try:
        with closing(Control(f"http://127.0.0.1:{ports[9099]}")) as control:
            wait_until_healthy(control, 30)
        done = subprocess.run(
            ["node", "main.mjs"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
    finally:
        container.stop()
    assert done.stdout == f"true {ports[9092]}\n"
