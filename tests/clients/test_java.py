"""The package for Java: its own tests, the first test of its page, and its metadata."""

import re
import tomllib
from pathlib import Path

import pytest

from scenarios.maven import CannotRunError
from tests.clients.java_package import CLIENTS, ROOT, install_java_package, run_maven

PAGE = ROOT / "clients" / "java" / "README.md"
_POM = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>shop</groupId><artifactId>orders</artifactId><version>1</version>
  <properties>
    <maven.compiler.release>17</maven.compiler.release>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>
  {}
  <build>
    <plugins>
      <plugin><artifactId>maven-surefire-plugin</artifactId><version>3.5.2</version></plugin>
      <plugin><artifactId>maven-compiler-plugin</artifactId><version>3.13.0</version></plugin>
      <plugin><artifactId>maven-resources-plugin</artifactId><version>3.3.1</version></plugin>
    </plugins>
  </build>
</project>
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
    runs = re.findall(r"Tests run: (\d+), Failures: 0, Errors: 0, Skipped: 0$", output, re.MULTILINE)
    assert len(runs) == 2  # the two artefacts
    assert sum(map(int, runs)) >= 32


@pytest.mark.interop
@pytest.mark.slow
def test_the_first_test_of_the_page_passes_in_an_empty_folder(tmp_path: Path) -> None:
    page = PAGE.read_text(encoding="utf-8")
    [dependencies] = re.findall(r"```xml\n(<dependencies>.*?)```", page, re.DOTALL)
    first, *_ = re.findall(r"```java\n(.*?)```", page, re.DOTALL)
    (tmp_path / "pom.xml").write_text(_POM.format(dependencies))
    source = tmp_path / "src" / "test" / "java" / "shop" / "OrdersTest.java"
    source.parent.mkdir(parents=True)
    source.write_text(first)
    try:
        install_java_package()
        output = run_maven(tmp_path, "test")
    except CannotRunError as error:
        pytest.skip(str(error))
    assert "Tests run: 1, Failures: 0, Errors: 0, Skipped: 0" in output
