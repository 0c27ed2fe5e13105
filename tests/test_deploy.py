"""The files by which the service is deployed: they parse, agree with the code, keep their word.

The chart is rendered by a strict reader of the few template words it uses; ``helm`` itself is not
needed, and a word that the reader does not know is an error. ``studies/container/run`` builds and
tries the image itself.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import stat
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from whitecrow.cli import whitecrow
from whitecrow_server import Provider, _listening

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
    assert all(name.endswith("_FILE") for name in service["environment"])
    assert "WHITECROW_CUSTODIAN_PASSWORD_FILE" in service["environment"]
    used = {name for one in compose["services"].values() for name in one["secrets"]}
    assert used == set(compose["secrets"])
    assert all(str(one["file"]).startswith("./secrets/") for one in compose["secrets"].values())


def test_secrets_made_as_the_compose_file_says_are_readable_inside_and_by_nobody_outside(
    tmp_path: Path,
) -> None:
    """A secret is mounted file by file: the folder keeps others out, the file must let 10001 in."""
    text = (ROOT / "compose.yaml").read_text(encoding="utf-8")
    lines = re.findall(r"^#   (.+)$", text, re.MULTILINE)
    typed = [line for line in lines if " compose up" not in line]
    script = "\n".join(["umask 077", "set -e", *typed])  # the strictest umask that people have
    subprocess.run(["bash", "-c", script], cwd=tmp_path, check=True)
    made = {path.name: path for path in (tmp_path / "secrets").iterdir()}
    assert set(made) == set(yaml.safe_load(text)["secrets"])
    assert stat.S_IMODE((tmp_path / "secrets").stat().st_mode) == 0o700
    for path in made.values():
        assert stat.S_IMODE(path.stat().st_mode) & 0o004, path.name
        assert len(path.read_text(encoding="utf-8").strip()) >= 32
    if os.geteuid() == 0:  # as the user inside, who is given the file alone
        with tempfile.TemporaryDirectory() as mounted:
            Path(mounted).chmod(0o755)
            copies = [shutil.copy(path, mounted) for path in made.values()]
            inside = {"user": 10001, "group": 10001}
            subprocess.run(["cat", *copies], check=True, capture_output=True, **inside)  # type: ignore[call-overload]


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
    monkeypatch.setattr(_listening, "run", lambda listening, *more: began.append(1))
    monkeypatch.setenv("WHITECROW_SETTINGS", "")
    monkeypatch.delenv("WHITECROW_FIRST_SIGN_IN", raising=False)
    monkeypatch.setenv("WHITECROW_LEDGER", f"sqlite:///{tmp_path / 'ledger.db'}")
    said = CliRunner().invoke(whitecrow, [*words, "--port", "0"])
    assert said.exit_code == 0, said.output
    assert began == [1]
    assert "wc_" not in said.output  # where output is no terminal, logs keep it
    handed_over = next(tmp_path.glob("first-sign-in.txt"))
    assert stat.S_IMODE(handed_over.stat().st_mode) == 0o600
    assert "wc_" in handed_over.read_text(encoding="utf-8")
    assert str(handed_over) in "".join(said.output.split("\n"))


# The chart


def _value(path: str, given: dict[str, Any]) -> Any:
    found: Any = given
    for part in path.lstrip(".").split("."):
        found = found[part]  # a name that is not there is an error
    return found


def _expression(text: str, given: dict[str, Any]) -> str:
    first, *filters = [part.strip() for part in text.split("|")]
    if first.startswith("required "):
        _, says, path = shlex.split(first)
        assert _value(path, given), says
        first = path
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
    """Render the words that the chart uses: values, printf, required, quote, if and end."""
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
    chosen = {**values, "trustedProxy": "192.0.2.7", **changes}
    given = {"Values": chosen, "Release": {"Name": "crow"}}
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
    # Secrets come as files; all else that is not written here is the node's own name.
    others = [one["valueFrom"] for one in container["env"] if "value" not in one]
    assert others == [{"fieldRef": {"fieldPath": "metadata.name"}}]


def test_the_chart_trusts_no_proxy_that_nobody_named() -> None:
    with pytest.raises(AssertionError, match="addresses of the proxies"):
        _chart(trustedProxy="")
    values = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
    assert values["trustedProxy"] == ""
    deployment = next(one for one in _chart() if one["kind"] == "Deployment")
    args = deployment["spec"]["template"]["spec"]["containers"][0]["args"]
    assert args[args.index("--trusted-proxy") + 1] == "192.0.2.7"


def test_what_the_chart_writes_to_outlives_the_node_or_does_not_matter() -> None:
    """The custodian's log has the causes of faults: it must be there after the fault."""
    deployment = next(one for one in _chart() if one["kind"] == "Deployment")
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    mounts = {one["mountPath"]: one for one in container["volumeMounts"]}
    volumes = {one["name"]: one for one in pod["volumes"]}
    dying = {one["name"] for one in pod["volumes"] if "emptyDir" in one}
    assert dying == {"tmp"}
    log = next(one for one in container["args"] if one.startswith("--custodian-log="))
    mount = mounts[str(Path(log.partition("=")[2]).parent)]
    assert "persistentVolumeClaim" in volumes[mount["name"]]
    assert mount["subPathExpr"] == "$(NODE)"  # two nodes do not write to one file
    assert not mount.get("readOnly")


def test_nothing_that_is_deployed_prints_the_first_password() -> None:
    deployment = next(one for one in _chart() if one["kind"] == "Deployment")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    named = {one["name"] for one in container["env"]}
    for given in (named, set(_compose()["whitecrow"]["environment"])):
        assert "WHITECROW_CUSTODIAN_PASSWORD_FILE" in given
    environment = [rest for word, rest in _instructions() if word == "ENV"][-1]
    assert "WHITECROW_FIRST_SIGN_IN=/accounts/" in environment


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
