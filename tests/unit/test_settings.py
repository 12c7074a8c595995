"""Settings: file, environment and flags, and what is said about faults in them."""

import os
from pathlib import Path

import pytest

from interlock.core.errors import ConfigError
from interlock.settings import KEY_VARIABLES, Settings, load_place, load_settings


def faults(cwd: Path, text: str = "", env: dict[str, str] | None = None, **overrides: object) -> list[str]:
    (cwd / "interlock.yaml").write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_settings(cwd, env or {}, overrides)
    return caught.value.faults


def test_an_empty_directory_gives_the_defaults_under_its_own_home(tmp_path: Path) -> None:
    settings = load_settings(tmp_path, {}, {})
    assert settings.home == tmp_path / ".interlock"
    assert settings.database_url == f"sqlite:///{tmp_path / '.interlock' / 'interlock.db'}"
    assert (settings.model, settings.policy, settings.personas) == (None, None, ())
    assert (settings.mission_budget_usd, settings.project_day_usd, settings.approval_expires_s) == (20, 50, 86_400)


def test_project_has_limits_of_its_own_where_they_are_set(tmp_path: Path) -> None:
    (tmp_path / "interlock.yaml").write_text(
        "mission_budget_usd: 3\nprojects: {shop: {project_day_usd: 10}, lab: {mission_budget_usd: 0.5}}\n"
    )
    settings = load_settings(tmp_path, {}, {})
    assert (settings.day_usd("shop"), settings.mission_usd("shop")) == (10, 3)
    assert (settings.day_usd("lab"), settings.mission_usd("lab")) == (50, 0.5)
    assert (settings.day_usd("default"), settings.mission_usd("default")) == (50, 3)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("times: {approval_reminder_s: 1e-9}", "`times.approval_reminder_s`: expected 0.1 to 31,536,000 seconds"),
        ("times: {loop_sweep_s: 0.01}", "`times.loop_sweep_s`: expected 0.1 to 31,536,000 seconds"),
        ("times: {learner_s: 1e12}", "`times.learner_s`: expected 0.1 to 31,536,000 seconds"),
        ("times: {model_call_s: 1e-9}", "`times.model_call_s`: expected 0.001 to 3,153,600,000 seconds"),
        ("retry: {cap_s: 0}", "`retry.cap_s`: expected 0.001 to 3,153,600,000 seconds"),
        ("approval_expires_s: 1e300", "`approval_expires_s`: expected 0.001 to 3,153,600,000 seconds"),
    ],
)
def test_times_are_such_as_can_be_kept(tmp_path: Path, line: str, problem: str) -> None:
    assert faults(tmp_path, f"{line}\n") == [f"interlock.yaml:1: {problem}"]


@pytest.mark.parametrize("value", ["nan", "inf", "-1", "1e-9"])
def test_times_of_the_environment_are_held_to_the_same(tmp_path: Path, value: str) -> None:
    (fault,) = faults(tmp_path, env={"INTERLOCK_TIMES__STUCK_S": value})
    assert fault == "INTERLOCK_TIMES__STUCK_S: `times.stuck_s`: expected 0.1 to 31,536,000 seconds"


def test_policy_and_personas_of_the_working_directory_are_found(tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text("version: 1\n")
    (tmp_path / "personas").mkdir()
    settings = load_settings(tmp_path, {}, {})
    assert settings.policy == tmp_path / "policy.yaml"
    assert settings.personas == (tmp_path / "personas",)


def test_flags_override_the_environment_which_overrides_the_file(tmp_path: Path) -> None:
    (tmp_path / "interlock.yaml").write_text("model: a/file\nproject: from-file\ntimezone: Europe/Berlin\n")
    env = {"INTERLOCK_MODEL": "b/env", "INTERLOCK_PROJECT": "from-env"}
    settings = load_settings(tmp_path, env, {"model": "c/flag", "project": None})
    assert (settings.model, settings.project, settings.timezone) == ("c/flag", "from-env", "Europe/Berlin")


def test_nested_variables_reach_nested_settings_without_losing_the_files_other_keys(tmp_path: Path) -> None:
    (tmp_path / "interlock.yaml").write_text("smtp:\n  host: mail.example.com\n  port: 25\n")
    env = {
        "INTERLOCK_SMTP__PORT": "2525",
        "INTERLOCK_PROVIDERS__GROQ__BASE_URL": "http://127.0.0.1:9/v1/",
        "INTERLOCK_BRAVE__BASE_URL": "http://127.0.0.1:8",
    }
    settings = load_settings(tmp_path, env, {})
    assert (settings.smtp.host, settings.smtp.port) == ("mail.example.com", 2525)
    assert settings.provider("groq").base_url == "http://127.0.0.1:9/v1"
    assert settings.brave.base_url == "http://127.0.0.1:8"


def test_keys_come_from_each_providers_variable_or_the_one_that_is_named(tmp_path: Path) -> None:
    (tmp_path / "interlock.yaml").write_text("providers:\n  mine: {base_url: 'http://127.0.0.1:1', api_key_env: MY}\n")
    env = {
        "ANTHROPIC_API_KEY": "k1",
        "GROQ_API_KEY": "k2",
        "INTERLOCK_PROVIDERS__GROQ__BASE_URL": "http://127.0.0.1:6",
        "MY": "k3",
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:7",
    }
    settings = load_settings(tmp_path, env, {})
    assert [settings.key(name) for name in ("anthropic", "groq", "mine", "openai")] == ["k1", "k2", "k3", None]
    assert settings.provider("anthropic").base_url == "http://127.0.0.1:7"


def test_every_provider_has_the_variable_of_its_key(tmp_path: Path) -> None:
    env = {variable: f"key of {name}" for name, variable in KEY_VARIABLES.items()}
    settings = load_settings(tmp_path, {**env, "OPENAI_BASE_URL": "http://127.0.0.1:5/v1"}, {})
    assert {name: settings.key(name) for name in KEY_VARIABLES} == {name: f"key of {name}" for name in KEY_VARIABLES}
    assert (len(KEY_VARIABLES), KEY_VARIABLES["google"]) == (10, "GEMINI_API_KEY")
    assert settings.provider("openai").base_url == "http://127.0.0.1:5/v1"


def test_a_provider_of_ones_own_says_what_it_speaks_and_wants_to_hear(tmp_path: Path) -> None:
    (tmp_path / "interlock.yaml").write_text(
        "providers:\n  in-house:\n    base_url: http://127.0.0.1:1/v1\n    protocol: anthropic\n"
        "    headers: {X-Tenant: hush-7}\n"
    )
    settings = load_settings(tmp_path, {"IN_HOUSE_API_KEY": "k"}, {})
    given = settings.provider("in-house")
    assert (given.protocol, settings.key("in-house")) == ("anthropic", "k")
    assert given.headers["X-Tenant"].get_secret_value() == "hush-7"
    assert "hush-7" not in repr(settings)


def test_secrets_are_never_printed(tmp_path: Path) -> None:
    env = {
        "ANTHROPIC_API_KEY": "hush-1",
        "BRAVE_API_KEY": "hush-2",
        "POSTAL_API_KEY": "hush-3",
        "INTERLOCK_SMTP__PASSWORD": "hush-4",
        "INTERLOCK_DATABASE_URL": "postgresql://me:hush-5@db.example/interlock?sslmode=require",
    }
    settings = load_settings(tmp_path, env, {})
    assert "hush" not in f"{settings!r} {settings} {settings.model_dump_json(exclude={'database_url'})}"
    assert settings.database_name == "postgresql://db.example/interlock"


def test_every_fault_of_a_file_is_told_with_its_line_and_the_nearest_name(tmp_path: Path) -> None:
    text = "modle: a/b\nconcurrency: many\nsmtp:\n  hots: x\n  port: 99999\nproject: Not Good\n"
    told = faults(tmp_path, text)
    assert [fault.split(": ", 1)[0] for fault in sorted(told)] == [f"interlock.yaml:{n}" for n in (1, 2, 4, 5, 6)]
    assert "interlock.yaml:1: unknown setting `modle`, did you mean `model`" in told
    assert "interlock.yaml:4: unknown setting `smtp.hots`, did you mean `host`" in told


def test_faults_of_variables_and_flags_name_them(tmp_path: Path) -> None:
    told = faults(tmp_path, "", {"INTERLOCK_CONCURRENCY": "0", "INTERLOCK_MODLE": "a/b"}, model="nothing")
    assert any(fault.startswith("INTERLOCK_CONCURRENCY: `concurrency`: ") for fault in told)
    assert "INTERLOCK_MODLE: unknown setting, did you mean `INTERLOCK_MODEL`" in told
    assert any(fault.startswith("model: `model`: `nothing` names no model: write `provider/model`") for fault in told)


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("mysql://x/y", "`mysql` is not a database that interlock supports"),
        ("sqlite://", "the path of the file is missing: use `sqlite:///PATH`, with three slashes"),
        ("sqlite://work.db", "the path of the file is missing: use `sqlite:///PATH`, with three slashes"),
        ("hunter2", "it is not a URL: use `sqlite:///PATH`"),
        ("sqlite:///", "path of the file is missing"),
        ("postgresql://me:pw@host:port/db", "port of the URL is not a number"),
        ("postgresql://[::1/db", "is not a number"),
    ],
)
def test_a_database_url_that_cannot_be_used_says_so_without_its_password(tmp_path: Path, url: str, says: str) -> None:
    told = faults(tmp_path, "", {"INTERLOCK_DATABASE_URL": url})
    assert len(told) == 1
    assert says in told[0]
    assert "pw" not in told[0]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("timezone: Mars/Olympus\n", "`Mars/Olympus` is not a time zone"),
        (
            "capabilities: [gpu, sandbox]\n",
            "whether a machine has a `sandbox` is found out by its workers: leave it out",
        ),
        ("sandbox: {checks: maybe}\n", "`sandbox.checks`: should be 'required' or 'off'"),
        ("sandbox: {readable: [/opt/../]}\n", "`sandbox.readable`: expected folders with programs, not all files"),
        ("mission_budget_usd: true\n", "expected a number"),
        ("mission_budget_usd: .inf\n", "finite"),
        ("projects: {shop: {day_usd: 5}}\n", "unknown setting `projects.shop.day_usd`, did you mean `project_day_usd`"),
        ("projects: {shop: {project_day_usd: -5}}\n", "project_day_usd"),
        (
            "projects: {Shop Ltd: {project_day_usd: 5}}\n",
            "yaml:1: `projects.Shop Ltd`: `Shop Ltd` is not a valid project name",
        ),
        ("projects: {shop: 5}\n", "yaml:1: `projects.shop`: should be a valid dictionary"),
        ("policy: nowhere.yaml\n", "there is no file"),
        ("personas: [nowhere]\n", "there is no folder"),
        ("- a list\n", "settings are `key: value` lines"),
        ("providers: {groq: {base_url: 'ftp://x'}}\n", "expected a URL"),
        ("providers: {x: {protocol: grpc}}\n", "should be 'openai' or 'anthropic'"),
        ("providers: {x: {headers: {'a b': c}}}\n", "`a b` is not a valid header name"),
        ("model: a/b\nmodel: c/d\n", "model"),
    ],
)
def test_a_bad_value_is_one_fault_with_its_line(tmp_path: Path, text: str, says: str) -> None:
    told = faults(tmp_path, text)
    assert len(told) == 1
    assert told[0].startswith("interlock.yaml:")
    assert says in told[0]
    assert "instance of" not in told[0]


@pytest.mark.parametrize("name", ["policy.yml", "interlock.yml"])
def test_a_file_that_only_looks_as_if_it_were_read_is_a_fault(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("version: 1\n")
    with pytest.raises(ConfigError, match=f"^{name}: is not read under this name: call it `{name[:-3]}yaml`$"):
        load_settings(tmp_path, {}, {})


@pytest.mark.parametrize(("name", "says"), [("policy.yaml", "there is no file"), ("personas", "there is no folder")])
def test_rules_that_lead_nowhere_are_a_fault_and_not_the_defaults(tmp_path: Path, name: str, says: str) -> None:
    (tmp_path / name).symlink_to(tmp_path / "not-mounted")
    assert says in faults(tmp_path, "")[0]


def test_sandbox_is_required_unless_switched_off_and_has_the_usual_limits(tmp_path: Path) -> None:
    box = load_settings(tmp_path, {}, {}).sandbox
    assert (box.wall_s, box.cpu_s, box.memory_mib, box.processes, box.written_mib, box.output_mib) == (
        30.0, 20, 512, 64, 50, 1,
    )  # fmt: skip
    assert load_settings(tmp_path, {}, {}).sandbox.checks == "required"
    (tmp_path / "interlock.yaml").write_text("sandbox: {checks: off, memory_mib: 4096}\n")
    found = load_settings(tmp_path, {}, {})
    assert (found.sandbox.checks, found.sandbox.memory_mib) == ("off", 4096)


@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "nowhere"])
def test_what_is_no_file_in_place_of_the_settings_is_a_fault_and_not_the_defaults(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "interlock.yaml"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to("/dev/zero" if kind == "device" else tmp_path / "gone")
    with pytest.raises(ConfigError, match=r"interlock\.yaml:1: cannot be read: "):
        load_settings(tmp_path, {}, {})


def test_path_that_is_too_long_is_one_fault(tmp_path: Path) -> None:
    (tmp_path / "interlock.yaml").write_text(f"policy: {'x' * 5000}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"interlock\.yaml:1: there is no file"):
        load_settings(tmp_path, {}, {})


def test_settings_cannot_be_changed(tmp_path: Path) -> None:
    settings: Settings = load_settings(tmp_path, {}, {})
    with pytest.raises(ValueError, match="frozen"):
        settings.model = "a/b"


@pytest.mark.parametrize("name", ["#ops", "ops", "@ana", "C0123 ABCD"])
def test_a_channel_of_slack_is_named_by_its_id(tmp_path: Path, name: str) -> None:
    found = faults(tmp_path, env={"INTERLOCK_SLACK__CHANNEL": name})
    said = f"`{name}` is not a channel id: write one such as `C0123ABCD`, from the channel's details"
    assert found == [f"INTERLOCK_SLACK__CHANNEL: `slack.channel`: {said}"]


def test_place_of_everything_is_known_whatever_is_wrong_with_the_rest(tmp_path: Path) -> None:
    (tmp_path / "interlock.yaml").write_text(
        "home: here\ndatabase_url: postgresql://pool/db\ndatabase_pooler: true\n"
        "database_direct_url: postgresql://direct/db\nconcurency: 4\npersonas: nowhere\n",
        encoding="utf-8",
    )
    with pytest.raises(ConfigError):
        load_settings(tmp_path, {}, {})
    found = load_place(tmp_path, {"INTERLOCK_HOME": "there", "INTERLOCK_CONCURRENCY": "none"})
    assert (found.home, found.database_url) == (tmp_path / "there", "postgresql://pool/db")
    assert (found.database_pooler, found.database_direct_url) == (True, "postgresql://direct/db")


@pytest.mark.parametrize("text", ["database_url: mysql://x/y\n", "home: [\n", "database_pooler: maybe\n", "- a\n"])
def test_place_that_is_not_certain_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "interlock.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"interlock\.yaml:1: "):
        load_place(tmp_path, {})


def test_lists_of_the_environment_stand_between_commas_and_folders_as_in_path(tmp_path: Path) -> None:
    for folder in ("one", "two", "flows"):
        (tmp_path / folder).mkdir()
    found = load_settings(tmp_path, {
        "INTERLOCK_CAPABILITIES": "gpu, tpu", "INTERLOCK_FALLBACKS": "groq/a",
        "INTERLOCK_CONSENSUS__MODELS": "a/b,a/c,d/e",
        "INTERLOCK_PERSONAS": f"one{os.pathsep}two", "INTERLOCK_WORKFLOWS": "flows",
        "INTERLOCK_AUDIT__OLD_KEY_FILES": f"a.key{os.pathsep}b.key",
        "INTERLOCK_SANDBOX__READABLE": f"tools{os.pathsep}/opt/node",
    }, {})  # fmt: skip
    assert found.sandbox.readable == (tmp_path / "tools", Path("/opt/node"))
    assert (found.capabilities, found.fallbacks) == (("gpu", "tpu"), ("groq/a",))
    assert found.consensus.models == ("a/b", "a/c", "d/e")
    assert [folder.name for folder in found.personas] == ["one", "two"]
    assert [folder.name for folder in found.workflows] == ["flows"]
    assert [file.name for file in found.audit.old_key_files] == ["a.key", "b.key"]
