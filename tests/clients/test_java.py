"""The package for Java: its own tests, the first test of its page, and its metadata."""

import re
import tomllib
from pathlib import Path

import pytest

from scenarios.maven import CannotRunError
from tests.clients.java_package import (
    CLIENTS,
    PAGE,
    ROOT,
    first_test,
    install_java_package,
    run_maven,
    write_project,
)

QUICKSTART = ROOT / "docs" / "quickstart.md"
CONTAINERS = ROOT / "docs" / "containers.md"
_SPRING_VERSION = "3.5.7"
_SPRING_DEPENDENCIES = f"""\
<dependencyManagement><dependencies><dependency>
  <groupId>org.springframework.boot</groupId><artifactId>spring-boot-dependencies</artifactId>
  <version>{_SPRING_VERSION}</version><type>pom</type><scope>import</scope>
</dependency></dependencies></dependencyManagement>
<dependencies>
  <dependency>
    <groupId>io.mockkafka</groupId><artifactId>mock-kafka</artifactId><version>0.1.0</version>
  </dependency>
  <dependency>
    <groupId>org.springframework.boot</groupId><artifactId>spring-boot-starter-test</artifactId>
  </dependency>
  <dependency>
    <groupId>org.springframework.kafka</groupId><artifactId>spring-kafka</artifactId>
  </dependency>
</dependencies>
"""
_CONTAINERS_DEPENDENCIES = """\
<dependencies>
  <dependency>
    <groupId>io.mockkafka</groupId><artifactId>mock-kafka-testcontainers</artifactId>
    <version>0.1.0</version>
  </dependency>
  <dependency>
    <groupId>org.testcontainers</groupId><artifactId>testcontainers-junit-jupiter</artifactId>
    <version>2.0.5</version>
  </dependency>
  <dependency>
    <groupId>org.apache.kafka</groupId><artifactId>kafka-clients</artifactId>
    <version>4.4.0</version>
  </dependency>
  <dependency>
    <groupId>org.junit.jupiter</groupId><artifactId>junit-jupiter</artifactId>
    <version>5.11.4</version>
  </dependency>
</dependencies>
"""
_CONTAINERS_START = """\
package shop;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.mockkafka.*;
import io.mockkafka.admin.Api;
import io.mockkafka.testcontainers.MockKafkaContainer;
import java.util.Map;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.*;
import org.testcontainers.junit.jupiter.*;
import org.testcontainers.junit.jupiter.Container;
import org.testcontainers.utility.DockerImageName;

"""
_SPRING_START = """\
package shop;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.mockkafka.*;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.kafka.core.KafkaTemplate;
import org.springframework.test.context.*;

@SpringBootApplication
class Shop {}

"""


def test_the_artefacts_have_the_version_of_the_project() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    poms = sorted((CLIENTS / "java").glob("**/pom.xml"))
    found = {re.findall(r"<version>(.*?)</version>", pom.read_text())[0] for pom in poms}
    assert len(poms) == 3
    assert found == {version}
    example = (ROOT / "examples" / "java" / "pom.xml").read_text()
    pattern = r"<artifactId>mock-kafka</artifactId>\s*<version>(.*?)</version>"
    assert re.findall(pattern, example + PAGE.read_text()) == [version, version]


@pytest.mark.interop
@pytest.mark.slow
def test_the_package_passes_its_own_tests() -> None:
    try:
        output = install_java_package(with_tests=True)
    except CannotRunError as error:
        pytest.skip(str(error))
    runs = re.findall(
        r"Tests run: (\d+), Failures: 0, Errors: 0, Skipped: 0$", output, re.MULTILINE
    )
    assert len(runs) == 2  # the two artefacts
    assert sum(map(int, runs)) >= 32


@pytest.mark.interop
@pytest.mark.slow
def test_the_first_test_of_the_page_passes_in_an_empty_folder(tmp_path: Path) -> None:
    output = output_of_tests(tmp_path, *first_test())
    assert "Tests run: 1, Failures: 0, Errors: 0, Skipped: 0" in output


@pytest.mark.interop
@pytest.mark.long
def test_the_test_with_spring_passes(tmp_path: Path) -> None:
    section = QUICKSTART.read_text(encoding="utf-8").partition("## Spring")[2]
    test, *_ = re.findall(r"```java\n(.*?)```", section, re.DOTALL)
    output = output_of_tests(tmp_path, _SPRING_DEPENDENCIES, _SPRING_START + test)
    assert "Tests run: 1, Failures: 0, Errors: 0, Skipped: 0" in output


@pytest.mark.interop
@pytest.mark.long
def test_the_test_with_testcontainers_compiles(tmp_path: Path) -> None:
    section = CONTAINERS.read_text(encoding="utf-8").partition("### Java")[2]
    test, *_ = re.findall(r"```java\n(.*?)```", section, re.DOTALL)
    output = output_of_tests(
        tmp_path, _CONTAINERS_DEPENDENCIES, _CONTAINERS_START + test, "test-compile"
    )
    assert "Compiling 1 source file" in output


def test_the_pages_show_the_same_first_test() -> None:
    pages = [page.read_text(encoding="utf-8") for page in (PAGE, QUICKSTART)]
    first, second = (re.findall(r"\n(@ExtendWith.*?\n}\n)", page, re.DOTALL) for page in pages)
    assert len(first) == 1
    assert first == second


def output_of_tests(folder: Path, dependencies: str, test: str, goal: str = "test") -> str:
    """Return what Maven prints for a project with one file of tests, in an empty folder."""
    write_project(folder, dependencies, test)
    try:
        install_java_package()
        return run_maven(folder, goal)
    except CannotRunError as error:
        pytest.skip(str(error))
