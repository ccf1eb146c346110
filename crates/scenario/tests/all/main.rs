//! Every scenario at every altitude.

mod random;

use scenario::{Altitude, CoreDriver, Kept, Protocol, Runner, STOPPED, Script, Server, ServerDriver};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;

/// The scenarios, brought up to date first if that is asked for.
fn scripts() -> &'static [Script] {
    static SCRIPTS: OnceLock<Vec<Script>> = OnceLock::new();
    SCRIPTS.get_or_init(|| {
        let dir = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios"));
        let dir = dir.canonicalize().expect("the directory of scenarios");
        let scripts = Script::read_all(&dir);
        if std::env::var_os("UPDATE_SCENARIOS").is_none() {
            return scripts;
        }
        let mut servers = Servers::default();
        for script in scripts {
            let printed = match script.altitudes[0] {
                Altitude::Shard | Altitude::Recovered => in_core(&script, Kept::Memory),
                Altitude::Json | Altitude::Query => servers.run(&script, Protocol::Json),
            };
            let broke_down = printed.iter().flatten().any(|line| line.starts_with(STOPPED));
            assert!(!broke_down, "{}", script.difference(&printed).unwrap_or_default());
            std::fs::write(&script.path, script.rewritten(&printed)).expect("a scenario can be written");
        }
        Script::read_all(&dir)
    })
}

fn in_core(script: &Script, kept: Kept) -> Vec<Vec<String>> {
    Runner::run(script, &mut CoreDriver::new(kept, CoreDriver::rules(&script.rules)))
}

/// The servers that were started, by their rules.
#[derive(Default)]
struct Servers(BTreeMap<Vec<(String, u32)>, Server>);

impl Servers {
    fn run(&mut self, script: &Script, protocol: Protocol) -> Vec<Vec<String>> {
        let server = self.0.entry(script.rules.clone()).or_insert_with_key(|rules| Server::start(rules));
        Runner::run(script, &mut ServerDriver::new(server, protocol))
    }
}

fn check(altitude: Altitude, mut run: impl FnMut(&Script) -> Vec<Vec<String>>) {
    let scripts = scripts().iter().filter(|script| script.altitudes.contains(&altitude));
    let differences: Vec<_> = scripts.filter_map(|script| script.difference(&run(script))).collect();
    assert!(differences.is_empty(), "at the altitude {}:\n{}", altitude.name(), differences.concat());
}

#[test]
fn shard() {
    check(Altitude::Shard, |script| in_core(script, Kept::Memory));
}

#[test]
fn recovered_from_the_journal() {
    check(Altitude::Recovered, |script| in_core(script, Kept::Journal));
}

#[test]
fn recovered_from_snapshots() {
    check(Altitude::Recovered, |script| in_core(script, Kept::Snapshots));
}

#[test]
fn json() {
    let mut servers = Servers::default();
    check(Altitude::Json, |script| servers.run(script, Protocol::Json));
}

#[test]
fn query() {
    let mut servers = Servers::default();
    check(Altitude::Query, |script| servers.run(script, Protocol::Query));
}
