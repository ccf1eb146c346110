//! Makes a failing run short: leaves out steps as long as what is left still fails.

use crate::plan::Plan;
use crate::sabotage::Sabotage;
use crate::world::run;

/// The shortest plan found that still breaks `promise`, within so many runs. Numbers in its words may differ.
pub fn shorten(plan: &Plan, promise: &str, sabotage: Option<Sabotage>, mut runs: u32) -> Plan {
    let mut best = plan.clone();
    let promise = without_numbers(promise);
    let mut chunk = best.steps.len() / 2;
    while chunk > 0 && runs > 0 {
        let mut start = 0;
        let mut was_shortened = false;
        while start < best.steps.len() && runs > 0 {
            let mut shorter = best.clone();
            shorter.steps.drain(start..(start + chunk).min(best.steps.len()));
            runs -= 1;
            let failure = run(&shorter, sabotage, false).failure;
            if failure.is_some_and(|failure| without_numbers(&failure.promise) == promise) {
                best = shorter;
                was_shortened = true;
            } else {
                start += chunk;
            }
        }
        if !was_shortened || chunk > 1 {
            chunk /= 2;
        }
    }
    best
}

fn without_numbers(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_ascii_hexdigit()).collect()
}
