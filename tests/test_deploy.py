"""The files by which the service is deployed: they parse, agree with the code, keep their word.

The chart is rendered by a strict reader of the few template words it uses; ``helm`` itself is not
needed, and a word that the reader does not know is an error. ``studies/container/run`` builds and
tries the image itself.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from whitecrow.cli import serve, whitecrow
from whitecrow.server import Provider

ROOT = Path(__file__).resolve().parents[1]
CHART = ROOT / "deploy" / "chart"

# Containerfile


def _instructions() -> list[tuple[str, str]]:
    text = (ROOT / "Containerfile").read_text(encoding="utf-8")
    lines = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    joined = re.sub(r"\\\n\s*", " ", lines)
    found = [line.split(maxsplit=1) for line in joined.splitlines() if line.strip()]
    return [(one[0], one[1]) for one in found]


KNOWN = {
    *("ARG", "FROM", "RUN", "WORKDIR", "COPY", "ENV", "USER", "VOLUME", "EXPOSE"),
    *("HEALTHCHECK", "STOPSIGNAL", "ENTRYPOINT", "CMD"),
}


def test_the_image_is_made_in_stages_from_the_locks_and_runs_as_nobody() -> None:
    steps = _instructions()
    assert {word for word, _ in steps} <= KNOWN
    assert [rest for word, rest in steps if word == "FROM"] == ["${BASE} AS build", "${BASE}"]
    installs = [rest for word, rest in steps if word == "RUN" and "pip install" in rest]
    assert all("--require-hashes" in one or "--no-index --no-deps" in one for one in installs)
    last = steps[max(i for i, (word, _) in enumerate(steps) if word == "FROM") :]
    words = [word for word, _ in last]
    assert dict(last)["USER"] == "10001:10001"
    assert words.index("USER") < words.index("ENTRYPOINT")
    assert "healthz" in dict(last)["HEALTHCHECK"]
    assert not any("pip" in rest for word, rest in last if word == "RUN")


def test_what_is_copied_is_there_and_not_ignored() -> None:
    let_in = [
        line[1:]
        for line in (ROOT / ".containerignore").read_text(encoding="utf-8").splitlines()
        if line.startswith("!")
    ]
    for word, rest in _instructions():
        if word == "COPY" and not rest.startswith("--from"):
            for source in shlex.split(rest)[:-1]:
                assert (ROOT / source).exists(), source
                assert source in let_in


def test_the_locks_of_the_image_agree_with_the_lock_of_the_tests() -> None:
    def versions(name: str) -> dict[str, str]:
        text = (ROOT / name).read_text(encoding="utf-8")
        return dict(re.findall(r"^([a-z0-9_.-]+)==([^\s;]+)", text, re.MULTILINE))

    whole = versions("requirements.lock")
    for name in ("requirements-service.lock", "requirements-build.lock"):
        part = versions(name)
        assert part
        assert {one: v for one, v in part.items() if one in whole and whole[one] != v} == {}
    text = (ROOT / "requirements-service.lock").read_text(encoding="utf-8")
    assert text.count("--hash=sha256:") > len(versions("requirements-service.lock"))
    assert "http" not in re.sub(r"^(httptools|httpcore|httpx)==.*", "", text, flags=re.MULTILINE)


def _options_are_known(arguments: list[str]) -> None:
    command = whitecrow.get_command(None, "serve")  # type: ignore[arg-type]
    known = {name for one in command.params for name in (*one.opts, *one.secondary_opts)}  # type: ignore[union-attr]
    for word in arguments:
        if word.startswith("--"):
            assert word.partition("=")[0] in known, word


def test_the_commands_of_image_and_compose_are_ones_the_terminal_knows() -> None:
    command = yaml.safe_load(dict(_instructions())["CMD"])
    assert command[0] == "serve"
    _options_are_known(command)
    compose = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
    _options_are_known(compose["services"]["whitecrow"]["command"])
    assert CliRunner().invoke(whitecrow, ["serve", "--help"]).exit_code == 0


def test_the_compose_file_gives_secrets_as_files_and_no_rights() -> None:
    compose = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
    service = compose["services"]["whitecrow"]
    assert service["read_only"]
    assert service["cap_drop"] == ["ALL"]
    assert all(str(port).startswith("127.0.0.1:") for port in service["ports"])
    assert set(service["environment"]) == {"WHITECROW_LEDGER_FILE"}
    used = {name for one in compose["services"].values() for name in one["secrets"]}
    assert used == set(compose["secrets"])
    assert all(str(one["file"]).startswith("./secrets/") for one in compose["secrets"].values())


def _compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
    return found["services"]


def test_the_provider_of_the_compose_file_is_the_one_the_service_trusts(tmp_path: Path) -> None:
    services = _compose()
    provider, service = services["provider"], services["whitecrow"]
    assert provider["network_mode"] == "service:whitecrow"
    assert "127.0.0.1:4593:4593" in service["ports"]
    mounted = [one for one in service["volumes"] if "provider.toml" in one]
    assert f"--provider={mounted[0].split(':')[1]}" in service["command"]
    text = (ROOT / mounted[0].split(":")[0]).read_text(encoding="utf-8")
    secret = tmp_path / "provider"
    secret.write_text("hush\n")
    (tmp_path / "provider.toml").write_text(text.replace("/run/secrets/provider", str(secret)))
    found = Provider.from_file(str(tmp_path / "provider.toml"))
    image = (ROOT / "deploy" / "provider" / "Containerfile").read_text(encoding="utf-8")
    assert found.redirect in image
    assert found.issuer == "http://127.0.0.1:4593/api/oidc"
    assert found.client_secret == "hush"  # noqa: S105
    assert "USER 10002:10002" in image
    for name in provider["secrets"]:
        assert f"/run/secrets/{name}" in image


@pytest.mark.parametrize("whose", ["image", "compose", "chart"])
def test_the_service_starts_with_the_very_command_that_is_deployed(
    whose: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All but listening: what is refused at the start would be refused there too."""
    if whose == "image":
        words = yaml.safe_load(dict(_instructions())["CMD"])
    elif whose == "compose":
        words = _compose()["whitecrow"]["command"]
    else:
        deployment = next(one for one in _chart() if one["kind"] == "Deployment")
        words = deployment["spec"]["template"]["spec"]["containers"][0]["args"]
    secret = tmp_path / "secret"
    secret.write_text("hush\n")
    text = (ROOT / "deploy" / "provider" / "provider.toml").read_text(encoding="utf-8")
    (tmp_path / "provider.toml").write_text(text.replace("/run/secrets/provider", str(secret)))
    there = {
        "/etc/whitecrow/provider.toml": str(tmp_path / "provider.toml"),
        "/accounts/custodian.log": str(tmp_path / "custodian.log"),
        "/data": str(tmp_path),
    }
    for before, after in there.items():
        words = [
            after if one == before else one.replace(f"={before}", f"={after}") for one in words
        ]
    began: list[int] = []
    monkeypatch.setattr(serve, "run", lambda listening, *more: began.append(1))
    monkeypatch.setenv("WHITECROW_SETTINGS", "")
    monkeypatch.setenv("WHITECROW_LEDGER", f"sqlite:///{tmp_path / 'ledger.db'}")
    said = CliRunner().invoke(whitecrow, [*words, "--port", "0"])
    assert said.exit_code == 0, said.output
    assert began == [1]


# The chart


def _value(path: str, given: dict[str, Any]) -> Any:
    found: Any = given
    for part in path.lstrip(".").split("."):
        found = found[part]  # a name that is not there is an error
    return found


def _expression(text: str, given: dict[str, Any]) -> str:
    first, *filters = [part.strip() for part in text.split("|")]
    if first.startswith("printf "):
        _, form, path = shlex.split(first)
        found = form.replace("%v", "%s") % _value(path, given)
    else:
        assert re.fullmatch(r"\.[A-Za-z.]+", first), text
        found = str(_value(first, given))
    for one in filters:
        assert one == "quote", text
        found = '"' + found.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return found


def rendered(text: str, given: dict[str, Any]) -> str:
    """Render the words that the chart uses: values, printf, quote, if and end."""
    kept: list[bool] = []
    out = []
    for line in text.splitlines():
        control = re.fullmatch(r"\s*\{\{- (if (\S+)|end) \}\}", line)
        if control and control[2]:
            kept.append(bool(_value(control[2], given)))
        elif control:
            kept.pop()
        elif all(kept):
            # A brace of YAML may stand right behind the end of an expression.
            out.append(re.sub(r"\{\{ (.*?) \}\}", lambda found: _expression(found[1], given), line))
    assert not kept
    return "\n".join(out)


def _chart(**changes: Any) -> list[dict[str, Any]]:
    values = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
    assert set(changes) <= set(values)
    given = {"Values": {**values, **changes}, "Release": {"Name": "crow"}}
    return [
        document
        for path in sorted((CHART / "templates").glob("*.yaml"))
        for document in yaml.safe_load_all(rendered(path.read_text(encoding="utf-8"), given))
    ]


def test_every_value_of_the_chart_is_explained_and_used() -> None:
    lines = (CHART / "values.yaml").read_text(encoding="utf-8").splitlines()
    for before, line in zip(["", *lines], lines, strict=False):
        if not line.startswith("#"):
            assert before.startswith("# "), line
    used = set()
    for path in (CHART / "templates").glob("*.yaml"):
        used |= set(re.findall(r"\.Values\.(\w+)", path.read_text(encoding="utf-8")))
    assert used == set(yaml.safe_load("\n".join(lines)))


def test_the_chart_runs_nodes_as_nobody_on_a_root_that_cannot_be_written() -> None:
    found = {document["kind"]: document for document in _chart(replicas=3)}
    assert set(found) == {"Deployment", "Service", "PodDisruptionBudget"}
    spec = found["Deployment"]["spec"]
    assert spec["replicas"] == 3
    assert spec["strategy"]["rollingUpdate"]["maxUnavailable"] == 0
    pod = spec["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"]
    assert container["securityContext"]["readOnlyRootFilesystem"]
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert container["livenessProbe"]["httpGet"]["path"] == "/healthz"
    _options_are_known(container["args"])
    mounted = {one["name"] for one in container["volumeMounts"]}
    assert mounted == {one["name"] for one in pod["volumes"]}
    assert all("value" in one for one in container["env"])  # secrets come as files


@pytest.mark.parametrize("secret", ["", "crow-witness"])
def test_the_witness_key_is_mounted_where_there_is_one(secret: str) -> None:
    deployment = next(one for one in _chart(witnessSecret=secret) if one["kind"] == "Deployment")
    pod = deployment["spec"]["template"]["spec"]
    named = [one["name"] for one in pod["containers"][0]["env"]]
    assert ("WHITECROW_WITNESS_KEY_FILE" in named) == bool(secret)
    assert ("witness" in [one["name"] for one in pod["volumes"]]) == bool(secret)


def test_a_template_word_that_the_reader_does_not_know_is_an_error() -> None:
    with pytest.raises((AssertionError, KeyError)):
        rendered("{{ .Values.replicas | upper }}", {"Values": {"replicas": 1}})
    with pytest.raises(KeyError):
        rendered("{{ .Values.unknown }}", {"Values": {}})
