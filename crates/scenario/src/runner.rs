//! The commands of a scenario.
//!
//! ```text
//! create NAME [Attribute=Value…] [tag.KEY=VALUE…]     delete-queue    purge    url    list [prefix=P] [max=N] [next]
//! attributes [NAME…]    set Attribute=Value…          tag KEY=VALUE…  untag KEY…      tags
//! count                                               visible, in flight, delayed
//!
//! send BODY [delay=5s] [size=BYTES] [attr NAME=TYPE:VALUE]… [group=ID] [trace=HEADER]
//! send-batch BODY [delay=5s] [size=BYTES] [id=ID] BODY …
//! receive [max=N] [visibility=30s] [wait=20s] [attributes=NAME,…] [system=NAME,…]
//! receive wait=20s as POLL &     POLL     hang-up POLL         a long poll; what it was answered; giving it up
//! delete BODY [receipt=N]        delete-batch BODY [receipt=N] BODY …
//! change BODY visibility=0s [receipt=N]     change-batch BODY visibility=0s [receipt=N] BODY …
//! undo BODY                      the engine takes back a delivery that nobody heard of
//!
//! advance 29s
//! ```
//!
//! A message goes by its body. Its receipt is that of its latest delivery; `receipt=1` is that of its first, `receipt=id`
//! the message's id, which is no receipt, and `receipt=forged` is made up, as is that of a delivery that never was.
//! `queue=NAME` stands for another queue than the first one that the file creates; a file that creates none has one all
//! the same. Of a batch the entries that failed are shown.

use crate::args::{self, Args};
use crate::call::{Attribute, Call, Code, Message, Receive, Received, Reply, StringMap};
use crate::driver::Driver;
use crate::script::Script;
use crate::shown;
use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};

const DEFAULT_QUEUE: &str = "q";

/// Stands for a receipt that never was.
const FORGED: &str = "Zm9yZ2Vk";

/// Begins the line that a step prints at which the scenario, or what it runs on, broke down.
pub const STOPPED: &str = "(stopped)";

/// Runs one scenario.
pub struct Runner<'a> {
    driver: &'a mut dyn Driver,
    queue: String,
    began: u64,
    /// By the message's name.
    messages: BTreeMap<String, Known>,
    handles: BTreeSet<String>,
    polls: BTreeMap<String, usize>,
    next_page: Option<String>,
}

/// What is known of a message.
#[derive(Default)]
struct Known {
    id: String,
    /// One of each delivery.
    receipts: Vec<String>,
}

type Lines = Vec<String>;

impl<'a> Runner<'a> {
    /// Runs all steps and gives what each printed. After a step that broke down none prints anything.
    pub fn run(script: &Script, driver: &'a mut dyn Driver) -> Vec<Lines> {
        let created = script.steps.iter().find_map(|step| step.command.strip_prefix("create "));
        let created = created.and_then(|rest| rest.split_whitespace().next());
        let queue = created.unwrap_or(DEFAULT_QUEUE).to_owned();
        let mut runner = Self::new(queue, driver);
        if created.is_none() {
            let printed = runner.step(&format!("create {DEFAULT_QUEUE}"));
            assert!(printed.is_empty(), "{}: cannot create a queue: {printed:?}", script.path.display());
        }
        let mut stopped = false;
        let mut step = |command: &str| {
            if stopped {
                return vec![];
            }
            let step = AssertUnwindSafe(|| runner.step(command));
            catch_unwind(step).unwrap_or_else(|panic| {
                stopped = true;
                vec![format!("{STOPPED} {}", panic_message(&*panic))]
            })
        };
        script.steps.iter().map(|scripted| step(&scripted.command)).collect()
    }

    fn new(queue: String, driver: &'a mut dyn Driver) -> Self {
        let began = driver.now_seconds();
        Self {
            driver,
            queue,
            began,
            messages: BTreeMap::new(),
            handles: BTreeSet::new(),
            polls: BTreeMap::new(),
            next_page: None,
        }
    }

    fn step(&mut self, line: &str) -> Lines {
        let mut args = Args::new(line);
        let command = args.required();
        let printed = self.command(&command, &mut args);
        args.finish();
        self.driver.step_done();
        printed
    }

    fn command(&mut self, command: &str, args: &mut Args) -> Lines {
        match command {
            "create" => self.create(args),
            "delete-queue" => self.on_queue(args, |queue| Call::DeleteQueue { queue }),
            "purge" => self.on_queue(args, |queue| Call::PurgeQueue { queue }),
            "url" => self.on_queue(args, |queue| Call::GetQueueUrl { queue }),
            "tags" => self.on_queue(args, |queue| Call::Tags { queue }),
            "list" => self.list(args),
            "attributes" => {
                let queue = self.queue(args);
                let names = args.all_plain();
                self.print(Call::Attributes { queue, names })
            }
            "set" => {
                let queue = self.queue(args);
                let attributes = args.all_options().into_iter().collect();
                self.print(Call::SetAttributes { queue, attributes })
            }
            "tag" => {
                let queue = self.queue(args);
                let tags = args.all_options().into_iter().collect();
                self.print(Call::Tag { queue, tags })
            }
            "untag" => {
                let queue = self.queue(args);
                let keys = args.all_plain();
                self.print(Call::Untag { queue, keys })
            }
            "count" => self.count(args),
            "send" => self.send(args),
            "send-batch" => self.send_batch(args),
            "receive" => self.receive(args),
            "delete" => {
                let queue = self.queue(args);
                let receipt = self.receipt_of(args);
                self.print(Call::Delete { queue, receipt })
            }
            "delete-batch" => {
                let queue = self.queue(args);
                let entry = |(body, mut args): (String, Args)| {
                    let entry = (entry_id(&body, &mut args), self.receipt(&body, &mut args));
                    args.finish();
                    entry
                };
                let entries = args.entries().into_iter().map(entry).collect();
                self.print(Call::DeleteBatch { queue, entries })
            }
            "change" => {
                let queue = self.queue(args);
                let seconds = args.seconds("visibility").expect("visibility= is missing");
                let receipt = self.receipt_of(args);
                self.print(Call::ChangeVisibility { queue, receipt, seconds })
            }
            "change-batch" => {
                let queue = self.queue(args);
                let entry = |(body, mut args): (String, Args)| {
                    let seconds = args.seconds("visibility").expect("visibility= is missing");
                    let entry = (entry_id(&body, &mut args), self.receipt(&body, &mut args), seconds);
                    args.finish();
                    entry
                };
                let entries = args.entries().into_iter().map(entry).collect();
                self.print(Call::ChangeVisibilityBatch { queue, entries })
            }
            "undo" => {
                let receipt = self.receipt_of(args);
                self.driver.undo(&receipt);
                vec![]
            }
            "hang-up" => {
                let name = args.required();
                let poll = self.polls.remove(&name).unwrap_or_else(|| panic!("there is no poll {name}"));
                self.driver.hang_up(poll);
                vec![]
            }
            "advance" => {
                self.driver.advance(args::seconds(&args.required()) as u64);
                vec![]
            }
            poll => {
                let Some(&number) = self.polls.get(poll) else { panic!("there is no command and no poll {poll}") };
                match self.driver.poll(number) {
                    None => vec!["(waiting)".to_owned()],
                    Some(answer) => {
                        self.polls.remove(poll);
                        self.shown(answer)
                    }
                }
            }
        }
    }

    fn create(&mut self, args: &mut Args) -> Lines {
        let queue = args.required();
        let (tags, attributes): (StringMap, StringMap) =
            args.all_options().into_iter().partition(|(name, _)| name.starts_with("tag."));
        let tags = tags.into_iter().map(|(name, value)| (name["tag.".len()..].to_owned(), value)).collect();
        self.print(Call::CreateQueue { queue, attributes, tags })
    }

    fn list(&mut self, args: &mut Args) -> Lines {
        let next = match args.plain().as_deref() {
            Some("next") => Some(self.next_page.take().expect("the page before was the last one")),
            _ => None,
        };
        self.print(Call::List { prefix: args.option("prefix"), results_max: args.number("max"), next })
    }

    fn count(&mut self, args: &mut Args) -> Lines {
        const COUNTS: [(&str, &str); 3] = [
            ("visible", "ApproximateNumberOfMessages"),
            ("in-flight", "ApproximateNumberOfMessagesNotVisible"),
            ("delayed", "ApproximateNumberOfMessagesDelayed"),
        ];
        let names = COUNTS.iter().map(|(_, name)| (*name).to_owned()).collect();
        match self.driver.call(&Call::Attributes { queue: self.queue(args), names }) {
            Ok(Reply::Map(values)) => {
                let shown = |(word, name): &(&str, &str)| format!("{word}={}", values.get(*name).map_or("?", |v| v));
                vec![COUNTS.iter().map(shown).collect::<Vec<_>>().join(" ")]
            }
            other => self.shown(other),
        }
    }

    fn send(&mut self, args: &mut Args) -> Lines {
        let queue = self.queue(args);
        let attributes = args.after("attr").iter().map(|word| attribute(word)).collect();
        let name = args.required();
        let message = Message { attributes, ..message(&name, args) };
        match self.driver.call(&Call::Send { queue, message }) {
            Ok(Reply::Sent { id }) => {
                self.messages.insert(name, Known { id, receipts: vec![] });
                vec![]
            }
            other => self.shown(other),
        }
    }

    fn send_batch(&mut self, args: &mut Args) -> Lines {
        let queue = self.queue(args);
        let mut names = BTreeMap::new();
        let entry = |(name, mut args): (String, Args)| {
            let id = entry_id(&name, &mut args);
            let message = message(&name, &mut args);
            args.finish();
            names.insert(id.clone(), name);
            (id, message)
        };
        let entries = args.entries().into_iter().map(entry).collect();
        let reply = self.driver.call(&Call::SendBatch { queue, entries });
        if let Ok(Reply::Outcomes(outcomes)) = &reply {
            for (entry, outcome) in outcomes {
                if let Ok(Some(id)) = outcome {
                    let known = Known { id: id.clone(), receipts: vec![] };
                    self.messages.insert(names[entry].clone(), known);
                }
            }
        }
        self.shown(reply)
    }

    fn receive(&mut self, args: &mut Args) -> Lines {
        let background = args.after("as").pop();
        let receive = Receive {
            queue: self.queue(args),
            messages_max: args.number("max"),
            visibility_seconds: args.seconds("visibility"),
            wait_seconds: args.seconds("wait"),
            attributes: args.list("attributes"),
            system_attributes: args.list("system"),
        };
        match background {
            None => self.print(Call::Receive(receive)),
            Some(name) => {
                assert_eq!(args.required(), "&", "a long poll is written `receive … as {name} &`");
                let poll = self.driver.start_poll(&receive);
                self.polls.insert(name, poll);
                vec![]
            }
        }
    }

    fn queue(&self, args: &mut Args) -> String {
        args.option("queue").unwrap_or_else(|| self.queue.clone())
    }

    fn receipt_of(&self, args: &mut Args) -> String {
        let body = args.required();
        self.receipt(&body, args)
    }

    fn receipt(&self, body: &str, args: &mut Args) -> String {
        let known = self.messages.get(body);
        let deliveries = known.map_or(&[][..], |known| &known.receipts);
        let receipt = match args.option("receipt").as_deref() {
            Some("id") => known.map(|known| &known.id),
            Some("forged") => None,
            None => deliveries.last(),
            Some(number) => {
                let number: usize = number.parse().unwrap_or_else(|_| panic!("receipt={number}"));
                number.checked_sub(1).and_then(|index| deliveries.get(index))
            }
        };
        receipt.map_or(FORGED, String::as_str).to_owned()
    }

    fn on_queue(&mut self, args: &mut Args, call: impl FnOnce(String) -> Call) -> Lines {
        let queue = self.queue(args);
        self.print(call(queue))
    }

    fn print(&mut self, call: Call) -> Lines {
        let reply = self.driver.call(&call);
        self.shown(reply)
    }

    fn shown(&mut self, reply: Result<Reply, Code>) -> Lines {
        let none_if_empty = |lines: Lines| if lines.is_empty() { vec!["(none)".to_owned()] } else { lines };
        match reply {
            Err(code) => vec![format!("error {code}")],
            Ok(Reply::Done | Reply::Sent { .. }) => vec![],
            Ok(Reply::Map(values)) => {
                let shown = values.iter().map(|(name, value)| shown::attribute(name, value, self.began));
                none_if_empty(shown.collect())
            }
            Ok(Reply::Names { names, next }) => {
                let more = next.is_some().then(|| "(more)".to_owned());
                self.next_page = next;
                none_if_empty(names.into_iter().chain(more).collect())
            }
            Ok(Reply::Outcomes(outcomes)) => {
                let failed =
                    |(entry, outcome): (String, Result<_, Code>)| Some(format!("{entry} error {}", outcome.err()?));
                outcomes.into_iter().filter_map(failed).collect()
            }
            Ok(Reply::Messages(messages)) => {
                none_if_empty(messages.iter().map(|message| self.delivered(message)).collect())
            }
        }
    }

    /// Notes a delivery. What must be so of each is only shown where it isn't.
    fn delivered(&mut self, received: &Received) -> String {
        let mut line = shown::message(received, self.began);
        let name = received.body.trim_end_matches(shown::PADDING);
        match self.messages.get_mut(name) {
            None => line += " (nobody sent it)",
            Some(known) => {
                if known.id != received.id {
                    line += " (its id is another)";
                }
                known.receipts.push(received.receipt.clone());
            }
        }
        if !self.handles.insert(received.receipt.clone()) {
            line += " (a receipt of an earlier delivery)";
        }
        line
    }
}

fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("for no reason given")
}

/// The id of a batch's entry is the message's name, unless it says otherwise.
fn entry_id(name: &str, args: &mut Args) -> String {
    args.option("id").unwrap_or_else(|| name.to_owned())
}

fn message(name: &str, args: &mut Args) -> Message {
    let mut body = name.to_owned();
    if let Some(size) = args.number("size") {
        body.extend(std::iter::repeat_n(shown::PADDING, size as usize - name.len()));
    }
    Message {
        body,
        delay_seconds: args.seconds("delay"),
        attributes: BTreeMap::new(),
        trace_header: args.option("trace"),
        group_id: args.option("group"),
    }
}

/// `Foo=String:Bar`
fn attribute(word: &str) -> (String, Attribute) {
    let split = || {
        let (name, rest) = word.split_once('=')?;
        let (data_type, value) = rest.split_once(':')?;
        Some((name.to_owned(), Attribute { data_type: data_type.to_owned(), value: value.to_owned() }))
    };
    split().unwrap_or_else(|| panic!("{word} is no attribute such as Foo=String:Bar"))
}
