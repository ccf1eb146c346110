//! Which queue names can't be taken again yet.

use model::limits::DELETED_NAME_SECONDS;
use model::{QueueKey, Timestamp};
use std::collections::{BTreeMap, VecDeque};

/// Names of queues that were deleted a moment ago.
#[derive(Default, PartialEq, Debug)]
pub(crate) struct DeletedNames {
    at: BTreeMap<QueueKey, Timestamp>,
    /// The same in the order of time, with names that were forgotten since.
    oldest_first: VecDeque<(Timestamp, QueueKey)>,
}

impl DeletedNames {
    pub fn when(&self, key: &QueueKey) -> Option<Timestamp> {
        self.at.get(key).copied()
    }

    pub fn remember(&mut self, key: QueueKey, at: Timestamp) {
        while let Some((oldest, key)) = self.oldest_first.front() {
            if at < oldest.plus_seconds(u64::from(DELETED_NAME_SECONDS)) {
                break;
            }
            if self.at.get(key) == Some(oldest) {
                self.at.remove(key);
            }
            self.oldest_first.pop_front();
        }
        self.at.insert(key.clone(), at);
        self.oldest_first.push_back((at, key));
    }

    pub fn forget(&mut self, key: &QueueKey) {
        self.at.remove(key);
    }

    /// Those that are remembered, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = (&QueueKey, Timestamp)> {
        self.oldest_first.iter().filter(|(at, key)| self.at.get(key) == Some(at)).map(|(at, key)| (key, *at))
    }
}
