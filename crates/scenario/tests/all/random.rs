//! Scenarios that nobody wrote: whatever is asked, a shard that dies after every step answers as one that never does.
//!
//! What is always true of a shard, and that a snapshot gives back what it was made from, is checked by the driver after
//! each step.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use scenario::{CoreDriver, Kept, Runner, STOPPED, Script};
use shard::{Paging, Rules};
use std::fmt::Write as _;

/// How many scenarios are drawn, unless `PROPTEST_CASES` says otherwise.
const CASES: u32 = 16;

const STEPS_MAX: usize = 60;

/// So few that the limit is often met, so short that a name is soon free again.
const RULES: &str = "# rules: in_flight_max=4 deleted_name_seconds=5\n";

/// Backlogs are frozen as soon as two of the largest receives drawn find all they ask for.
const PAGING: Paging =
    Paging { page_messages: 2, page_bytes: 1 << 20, window: 10, thaw_below: 8, freeze_above: 12, look_every: 1 };

/// One drawn step. Messages and polls are named after the step that made them.
#[derive(Clone, Debug)]
enum Step {
    Send {
        delay_seconds: u32,
    },
    SendBatch {
        delay_seconds: u32,
    },
    Receive {
        max: u32,
        visibility_seconds: u32,
    },
    Poll {
        max: u32,
        wait_seconds: u32,
    },
    HangUp {
        poll: usize,
    },
    /// A command about a message: `{}` stands for its name.
    About {
        message: usize,
        command: &'static str,
    },
    Advance {
        seconds: u32,
    },
    Plain(&'static str),
}

/// Steps after which no message is old enough to expire.
fn step() -> impl Strategy<Value = Step> {
    let seconds = || select(vec![0, 1, 5, 30]);
    let about = [
        "delete {}",
        "delete {} receipt=1",
        "delete-batch {} id=1 {} id=2",
        "change {} visibility=0s",
        "change {} visibility=10s",
        "change {} visibility=12h",
        "change-batch {} id=1 visibility=0s {} id=2 visibility=30s",
        "change {} visibility=30s receipt=1",
        "change {} visibility=30s queue=other",
        "undo {}",
        "undo {} receipt=1",
    ];
    let plain = [
        "purge",
        "delete-queue",
        "create q",
        "create q VisibilityTimeout=5",
        "create other",
        "set VisibilityTimeout=5",
        "set DelaySeconds=5",
        "set DelaySeconds=0",
        "set KmsMasterKeyId=k",
        "set KmsMasterKeyId=",
        "tag a=1 b=2",
        "untag a",
        "tags",
        "attributes All",
        "list",
        "count",
    ];
    prop_oneof![
        6 => seconds().prop_map(|delay_seconds| Step::Send { delay_seconds }),
        2 => seconds().prop_map(|delay_seconds| Step::SendBatch { delay_seconds }),
        6 => (1..=4u32, seconds()).prop_map(|(max, visibility_seconds)| Step::Receive { max, visibility_seconds }),
        3 => (1..=4u32, 1..=20u32).prop_map(|(max, wait_seconds)| Step::Poll { max, wait_seconds }),
        1 => (0..STEPS_MAX).prop_map(|poll| Step::HangUp { poll }),
        8 => (0..STEPS_MAX, select(about.to_vec())).prop_map(|(message, command)| Step::About { message, command }),
        4 => select(vec![1, 5, 10, 30, 60, 3_600]).prop_map(|seconds| Step::Advance { seconds }),
        5 => select(plain.to_vec()).prop_map(Step::Plain),
    ]
}

/// The steps as a scenario. What names a message or a poll that isn't there is left out; at the end all polls are shown.
fn written(steps: &[Step]) -> String {
    let mut text = format!("{RULES}create q\n");
    let mut messages = Vec::new();
    let mut polls = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        let line = match step {
            Step::Send { delay_seconds } => {
                messages.push(format!("m{index}"));
                format!("send m{index} delay={delay_seconds}s")
            }
            Step::SendBatch { delay_seconds } => {
                messages.extend((1..=5).map(|entry| format!("b{index}-{entry}")));
                format!("send-batch b{index}-{{1..4}} b{index}-5 delay={delay_seconds}s")
            }
            Step::Receive { max, visibility_seconds } => {
                format!("receive wait=0s max={max} visibility={visibility_seconds}s")
            }
            Step::Poll { max, wait_seconds } => {
                polls.push(format!("p{index}"));
                format!("receive wait={wait_seconds}s max={max} visibility=10s as p{index} &")
            }
            Step::HangUp { .. } if polls.is_empty() => continue,
            Step::HangUp { poll } => format!("hang-up {}", polls.remove(poll % polls.len())),
            Step::About { .. } if messages.is_empty() => continue,
            Step::About { message, command } => command.replace("{}", &messages[message % messages.len()]),
            Step::Advance { seconds } => format!("advance {seconds}s"),
            Step::Plain(line) => (*line).to_owned(),
        };
        writeln!(text, "{line}").expect("a string takes everything");
    }
    text + &polls.join("\n") + "\n"
}

/// Steps that let messages expire as well.
fn step_or_expiry() -> impl Strategy<Value = Step> {
    let expiry = [
        Step::Plain("set MessageRetentionPeriod=60"),
        Step::Plain("set MessageRetentionPeriod=1209600"),
        Step::Advance { seconds: 100_000 },
    ];
    prop_oneof![16 => step(), 1 => select(expiry.to_vec())]
}

fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(CASES)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn dying_after_every_step_changes_nothing(steps in vec(step_or_expiry(), 1..STEPS_MAX)) {
        check(&steps, &[Kept::Journal, Kept::Snapshots], Paging::default())?;
    }

    /// Of a frozen page of which a part has expired all messages count as visible until it is thawed, so here none
    /// expires.
    #[test]
    fn freezing_changes_nothing(steps in vec(step(), 1..STEPS_MAX)) {
        check(&steps, &[Kept::Snapshots], PAGING)?;
    }
}

fn check(steps: &[Step], kept: &[Kept], paging: Paging) -> Result<(), TestCaseError> {
    let script = Script::parse("random.txt".into(), &written(steps));
    let rules = Rules { paging, ..CoreDriver::rules(&script.rules) };
    let run = |kept| Runner::run(&script, &mut CoreDriver::new(kept, rules.clone()));
    let lived = run(Kept::Memory);
    let text = script.rewritten(&lived);
    prop_assert!(!lived.iter().flatten().any(|line| line.starts_with(STOPPED)), "{}", text);
    let expected = Script::parse("random.txt".into(), &text);
    for &kept in kept {
        let difference = expected.difference(&run(kept));
        prop_assert!(difference.is_none(), "{:?}: {}\nin\n{}", kept, difference.unwrap_or_default(), text);
    }
    Ok(())
}
