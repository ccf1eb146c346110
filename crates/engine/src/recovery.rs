//! From what is stored to the state: the newest snapshot, and every entry after it.

use crate::store::Store;
use shard::{Entry, Rules, Shard};
use std::ops::ControlFlow;

/// A state, and the position of the journal up to which it holds.
pub struct Recovered {
    pub shard: Shard,
    pub lsn: u64,
}

/// Rebuilds the state at the newest snapshot, or the empty one.
pub fn from_snapshot(store: &dyn Store, rules: &Rules) -> Result<Recovered, String> {
    match store.latest_snapshot()? {
        Some((lsn, bytes)) => {
            let shard = Shard::from_snapshot(&bytes, rules.clone())
                .map_err(|error| format!("cannot read the snapshot at {lsn}: {error}"))?;
            Ok(Recovered { shard, lsn })
        }
        None => Ok(Recovered { shard: Shard::new(rules.clone()), lsn: 0 }),
    }
}

/// Brings a state up to the end of the journal.
///
/// Errors: a record can't be read, or doesn't say what a shard writes.
pub fn catch_up(store: &dyn Store, recovered: &mut Recovered) -> Result<(), String> {
    let end = store.end();
    if recovered.lsn > end {
        return Err(format!(
            "the newest snapshot holds at {} but the journal ends at {end}: its newest files are missing. \
             Restore the whole data directory from a backup",
            recovered.lsn
        ));
    }
    if recovered.lsn == 0 && store.oldest() != store.first() {
        return Err(format!(
            "the journal begins at {} and there is no snapshot of what came before. \
             Restore the whole data directory from a backup",
            store.oldest()
        ));
    }
    if recovered.lsn == end {
        return Ok(());
    }
    let mut malformed = None;
    let (shard, lsn) = (&mut recovered.shard, &mut recovered.lsn);
    store.replay(
        *lsn,
        &mut |position, entries| match Entry::decode_all(entries, position, |entry| shard.apply(&entry)) {
            Ok(()) => {
                *lsn = position + entries.len() as u64;
                ControlFlow::Continue(())
            }
            Err(error) => {
                malformed = Some(format!("the journal's record at {}: {error}", position - store.header_bytes()));
                ControlFlow::Break(())
            }
        },
    )?;
    malformed.map_or(Ok(()), Err)
}
