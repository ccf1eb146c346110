//! A few hundred runs on fixed seeds, and the proof that they are worth something.

use sim::plan::Plan;
use sim::sabotage::Sabotage;
use sim::{Reach, run};

const SEEDS: u64 = 600;

#[test]
fn every_promise_is_kept_and_everything_occurs() {
    let mut reach = Reach::new();
    for seed in 0..SEEDS {
        let run = run(&Plan::new(seed), None, false);
        if let Some(failure) = run.failure {
            panic!("seed {seed}: {}. Try: cargo run --release -p sim -- --seed {seed}", failure.promise);
        }
        for (what, count) in run.reach {
            *reach.entry(what).or_default() += count;
        }
    }
    let missing: Vec<_> = sim::EXPECTED.iter().filter(|what| !reach.contains_key(**what)).collect();
    assert!(missing.is_empty(), "in {SEEDS} runs this never occurs: {missing:#?}");
}

#[test]
fn a_seed_gives_the_same_run_each_time() {
    for seed in 0..20 {
        let first = run(&Plan::new(seed), None, false);
        let again = run(&Plan::new(seed), None, false);
        assert_eq!(first.hash, again.hash, "seed {seed}");
        assert_eq!(first.reach, again.reach, "seed {seed}");
    }
    let hashes: std::collections::BTreeSet<u64> = (0..20).map(|seed| run(&Plan::new(seed), None, false).hash).collect();
    assert_eq!(hashes.len(), 20, "different seeds give different runs");
}

/// How many seeds a bug may need to be found.
const SEEDS_UNTIL_FOUND: u64 = 200;

#[test]
fn every_sabotage_is_found() {
    for sabotage in Sabotage::ALL {
        let found = (0..SEEDS_UNTIL_FOUND).find_map(|seed| {
            let failure = run(&Plan::new(seed), Some(sabotage), false).failure?;
            Some((seed, failure.promise))
        });
        let (seed, promise) = found.unwrap_or_else(|| panic!("{sabotage:?} is not found in {SEEDS_UNTIL_FOUND} seeds"));
        println!("{sabotage:?}: seed {seed}: {promise}");
    }
}
