//! Makes a failing run short: leaves out steps as long as what is left still fails.

use crate::plan::Plan;
use crate::sabotage::Sabotage;
use crate::world::run;

/// The shortest plan found that still breaks a promise, within so many runs. Any broken promise counts: a shorter run often
/// shows the same mistake from another side.
pub fn shorten(plan: &Plan, sabotage: Option<Sabotage>, mut runs: u32) -> Plan {
    let mut best = plan.clone();
    let mut chunk = best.steps.len() / 2;
    while chunk > 0 && runs > 0 {
        let mut start = 0;
        let mut was_shortened = false;
        while start < best.steps.len() && runs > 0 {
            let mut shorter = best.clone();
            shorter.steps.drain(start..(start + chunk).min(best.steps.len()));
            runs -= 1;
            if run(&shorter, sabotage, false).failure.is_some() {
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
