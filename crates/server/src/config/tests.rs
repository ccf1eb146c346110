//! Precedence, and what is said of mistakes.

use super::*;
use crate::settings::docs_page;
use model::{AccountId, Region};

/// What comes of flags, environment and the lines of a file: the configuration, or everything that is wrong with it.
fn load(flags: &[(&str, &str)], environment: &[(&str, &str)], file: &str) -> Result<Config, Vec<String>> {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("posthouse.toml");
    std::fs::write(&path, file).expect("a file");
    let flag = |(key, text): &(&str, &str)| (Settings::by_key(key).expect("a setting"), (*text).to_owned());
    let command_line = CommandLine { file: Some(path.clone()), flags: flags.iter().map(flag).collect() };
    let environment = environment.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let shortened = |problem: Problem| problem.to_string().replace(path.to_str().expect("UTF-8"), "FILE");
    Config::load(command_line, environment).map_err(|problems| problems.into_iter().map(shortened).collect())
}

#[test]
fn the_strongest_source_decides() {
    let flag = &[("region", "of-flag")][..];
    let variable = &[("POSTHOUSE_REGION", "of-variable")][..];
    let file = "region = 'of-file'";
    for (flags, environment, file, expected) in [
        (flag, variable, file, "of-flag"),
        (&[], variable, file, "of-variable"),
        (&[], &[], file, "of-file"),
        (&[], &[], "", "us-east-1"),
        (flag, &[], file, "of-flag"),
        (flag, variable, "", "of-flag"),
    ] {
        let config = load(flags, environment, file).expect("a configuration");
        assert_eq!(config.settings.region.as_str(), expected);
    }
}

#[test]
fn every_setting_can_be_given_in_every_way() {
    for setting in ALL {
        // Its own default, or what else it can be.
        let value = match (setting.key, setting.default) {
            ("public_url", _) => "https://sqs.example.com",
            ("cors_origins", _) => "*",
            (_, default) => default,
        };
        let source = |flags: &[(&str, &str)], environment: &[(&str, &str)], file: &str| {
            let config = load(flags, environment, file).unwrap_or_else(|problems| panic!("{problems:?}"));
            let Origin { text, source } = config.given.origin(setting.key);
            assert_eq!(text, value);
            source
        };
        assert!(matches!(source(&[(setting.key, value)], &[], ""), Source::Flag(_)));
        assert!(matches!(source(&[], &[(&setting.variable(), value)], ""), Source::Variable(_)));
        assert!(matches!(source(&[], &[], &format!("{} = {value:?}", setting.key)), Source::File { line: 1, .. }));
    }
}

fn check_problems(flags: &[(&str, &str)], environment: &[(&str, &str)], file: &str, expected: &[&str]) {
    assert_eq!(load(flags, environment, file).expect_err(file), expected);
}

#[test]
fn a_mistake_is_named_with_its_place() {
    check_problems(&[], &[], "\nlisen = 1\n", &["FILE:2: no such setting: `lisen`; did you mean `listen`?"]);
    check_problems(&[], &[], "xyzzy = 1", &["FILE:1: no such setting: `xyzzy`"]);
    check_problems(
        &[],
        &[("POSTHOUSE_REGOIN", "x"), ("OTHER", "y")],
        "",
        &["environment variable POSTHOUSE_REGOIN: no such setting; did you mean `POSTHOUSE_REGION`?"],
    );
    check_problems(
        &[("durability", "none")],
        &[("POSTHOUSE_TEST_CLOCK", "yes")],
        "\n\nbody_bytes_max = '8MB'\nregion = ['a']\n",
        &[
            "FILE:4: region: expected a string, a number or a switch, not array",
            "--durability: durability = \"none\": expected fsync, os or memory",
            "environment variable POSTHOUSE_TEST_CLOCK: test_clock = \"yes\": expected true or false",
            "FILE:3: body_bytes_max = \"8MB\": expected a number of bytes, such as 65536, 64KiB, 8MiB or 1GiB",
        ],
    );
    check_problems(&[], &[], "a = \n", &["FILE:1: string values must be quoted, expected literal string"]);
    check_problems(
        &[],
        &[],
        "deleted_name_seconds = 61",
        &["FILE:1: deleted_name_seconds: at most 60; names are not remembered longer"],
    );
}

#[test]
fn an_open_address_has_to_be_meant() {
    let problems = load(&[("listen", "0.0.0.0:4566")], &[], "").expect_err("refused");
    assert_eq!(problems.len(), 1);
    assert!(
        problems[0].starts_with("--listen: listen: 0.0.0.0:4566 can be reached from other machines"),
        "{problems:?}"
    );
    assert!(problems[0].contains("--insecure-no-auth"), "{problems:?}");
    for address in ["127.0.0.1:0", "127.9.9.9:1", "[::1]:4566"] {
        load(&[("listen", address)], &[], "").expect(address);
    }
    load(&[("listen", "0.0.0.0:4566")], &[("POSTHOUSE_INSECURE_NO_AUTH", "true")], "").expect("it was meant");
}

#[test]
fn what_kubernetes_sets_is_not_ours() {
    let variables = [
        ("POSTHOUSE_SERVICE_HOST", "10.0.0.1"),
        ("POSTHOUSE_SERVICE_PORT", "4566"),
        ("POSTHOUSE_PORT", "tcp://10.0.0.1:4566"),
        ("POSTHOUSE_PORT_4566_TCP_ADDR", "10.0.0.1"),
    ];
    load(&[], &variables, "").expect("they are skipped");
}

#[test]
fn queues_are_declared_in_the_file() {
    let file = r#"
        [[queue]]
        name = "orders"
        region = "eu-west-1"
        account = "123456789012"
        [queue.attributes]
        VisibilityTimeout = 60
        SqsManagedSseEnabled = false
        [queue.tags]
        team = "shipping"

        [[queue]]
        name = "plain"
    "#;
    let config = load(&[], &[], file).expect("a configuration");
    let [orders, plain] = config.queues.try_into().expect("two queues");
    assert_eq!(orders.name, "orders");
    assert_eq!(orders.region, Region::parse("eu-west-1"));
    assert_eq!(orders.account, AccountId::parse("123456789012"));
    assert_eq!(orders.attributes["VisibilityTimeout"], "60");
    assert_eq!(orders.attributes["SqsManagedSseEnabled"], "false");
    assert_eq!(orders.tags["team"], "shipping");
    assert_eq!((plain.name.as_str(), plain.region, plain.account), ("plain", None, None));

    check_problems(&[], &[], "[queue]\nname = 'x'", &["FILE:1: a queue is declared by [[queue]], with two brackets"]);
    check_problems(
        &[],
        &[],
        "[[queue]]\nname = 'x'\nattribute = {}\nregion = 'A B'\n[queue.tags]\na = [1]",
        &[
            "FILE:3: no such member of a queue: `attribute`; did you mean `attributes`?",
            "FILE:4: region = \"A B\": expected a Region, such as us-east-1",
            "FILE:6: a: expected a string, a number or a switch, not array",
        ],
    );
    check_problems(&[], &[], "\n[[queue]]\nregion = 'a'", &["FILE:2: the queue has no name: name = \"orders\""]);
}

#[test]
fn what_check_prints_gives_the_same_settings_again() {
    let file = "public_url = 'https://a.example'\nin_flight_max = 10\n[[queue]]\nname = 'q'\ntags = { 'a b' = 'c\"d' }";
    let config = load(&[("test_clock", "true")], &[], file).expect("a configuration");
    let printed = config.to_string();
    assert!(printed.contains("test_clock = true ") && printed.contains("# --test-clock\n"), "{printed}");
    let again = load(&[], &[], &printed).unwrap_or_else(|problems| panic!("{problems:?} in:\n{printed}"));
    assert_eq!(format!("{:?}", again.settings), format!("{:?}", config.settings));
    assert_eq!(again.queues[0].tags, config.queues[0].tags);
}

/// Run with UPDATE_DOCS=1 to write it.
#[test]
fn the_documentation_lists_the_settings_as_they_are() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/configuration.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, docs_page()).expect("the page can be written");
    }
    let page = std::fs::read_to_string(path).expect("docs/configuration.md exists");
    assert!(page == docs_page(), "docs/configuration.md is stale: UPDATE_DOCS=1 cargo test --release -p server");
}
