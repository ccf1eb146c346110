//! docs/configuration.md, from the list of settings.

use super::ALL;
use std::fmt::Write;

const INTRODUCTION: &str = "\
# Configuration

<!-- Made from crates/server/src/settings.rs: UPDATE_DOCS=1 cargo test --release -p server -->

Every setting can be given in three ways, with the same name. The command line beats the environment, the environment
beats the file, and the file beats the default.

| where | how | example |
|---|---|---|
| command line | dashes | `posthouse serve --public-url https://sqs.example.com` |
| environment | capitals, with `POSTHOUSE_` before | `POSTHOUSE_PUBLIC_URL=https://sqs.example.com` |
| file | as in the table below | `public_url = \"https://sqs.example.com\"` |

The file is TOML and is read only where it is named, by `--config FILE` or `POSTHOUSE_CONFIG=FILE`. A name that doesn't
exist is an error, in the file and in the environment (apart from the variables that Kubernetes makes for a service called
`posthouse`). `posthouse config check FILE` prints the settings in effect, each with where it came from.

Sizes are numbers of bytes and may have a unit, `KiB`, `MiB` or `GiB`: `\"8MiB\"`. A switch needs no value on the command line:
`--test-clock`.

";

const QUEUES: &str = r#"
## Declared queues

Queues that the file declares are made at start-up, by the rules of CreateQueue. One that exists is given the attributes
and tags that are declared; its other attributes, its tags and its messages stay.

```toml
[[queue]]
name = "orders"
region = "eu-west-1"          # default: the setting region
account = "123456789012"      # default: the setting default_account

[queue.attributes]
VisibilityTimeout = 60
ReceiveMessageWaitTimeSeconds = 20

[queue.tags]
team = "shipping"
```
"#;

/// The page, as it should stand in the repository.
pub fn page() -> String {
    let mut page = String::from(INTRODUCTION);
    page += "| setting | value | default | what it does |\n|---|---|---|---|\n";
    for setting in ALL {
        let form = setting.form.replace('|', "\\|");
        let default = if setting.default.is_empty() { "not set".into() } else { format!("`{}`", setting.default) };
        let about = setting.about.trim().replace('|', "\\|");
        writeln!(page, "| `{}` | {form} | {default} | {about} |", setting.key).expect("a string takes all text");
    }
    page + QUEUES
}
