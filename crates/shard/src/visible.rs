//! Which messages of a queue can be handed out, in the order of arrival.
//!
//! ```text
//!   ├── head ──┤ barrier: the first frozen message ┊ frozen pages ┊ ├── tail ──┤
//! ```
//!
//! What arrived after a frozen message waits until that has been thawed, so that the backlog keeps its order.

use model::Serial;
use std::collections::BTreeSet;
use std::ops::Bound;

#[derive(Default)]
pub(crate) struct Visible {
    head: BTreeSet<Serial>,
    /// Those behind the barrier; empty without one.
    tail: BTreeSet<Serial>,
    barrier: Option<Serial>,
}

impl Visible {
    pub fn insert(&mut self, serial: Serial) {
        self.side(serial).insert(serial);
    }

    /// False where it wasn't there.
    pub fn remove(&mut self, serial: Serial) -> bool {
        self.side(serial).remove(&serial)
    }

    pub fn contains(&self, serial: Serial) -> bool {
        self.head.contains(&serial) || self.tail.contains(&serial)
    }

    /// Those that can be handed out now, oldest first.
    pub fn head(&self) -> impl Iterator<Item = Serial> + '_ {
        self.head.iter().copied()
    }

    pub fn head_len(&self) -> usize {
        self.head.len()
    }

    pub fn len(&self) -> usize {
        self.head.len() + self.tail.len()
    }

    /// All after `serial`, oldest first.
    pub fn after(&self, serial: Serial) -> impl Iterator<Item = Serial> + '_ {
        let after = (Bound::Excluded(serial), Bound::Unbounded);
        self.head.range(after).chain(self.tail.range(after)).copied()
    }

    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Moves the barrier to the first frozen message, or takes it away.
    pub fn set_barrier(&mut self, barrier: Option<Serial>) {
        if barrier == self.barrier {
            return;
        }
        self.barrier = barrier;
        match barrier {
            None => self.head.append(&mut self.tail),
            Some(first) => {
                let behind = self.tail.split_off(&first);
                self.head.append(&mut self.tail);
                self.tail = behind;
                self.tail.append(&mut self.head.split_off(&first));
            }
        }
    }

    fn side(&mut self, serial: Serial) -> &mut BTreeSet<Serial> {
        if self.barrier.is_some_and(|first| first <= serial) { &mut self.tail } else { &mut self.head }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(visible: &Visible, head: &[u64]) {
        assert_eq!(visible.head().map(|serial| serial.0).collect::<Vec<_>>(), head);
    }

    #[test]
    fn what_lies_behind_the_barrier_waits() {
        let mut visible = Visible::default();
        (1..=6).for_each(|serial| visible.insert(Serial(serial)));
        check(&visible, &[1, 2, 3, 4, 5, 6]);

        visible.set_barrier(Some(Serial(4)));
        assert!(visible.remove(Serial(5)) && !visible.remove(Serial(5)));
        visible.insert(Serial(7));
        check(&visible, &[1, 2, 3]);
        assert_eq!(visible.after(Serial(2)).map(|serial| serial.0).collect::<Vec<_>>(), [3, 4, 6, 7]);

        visible.set_barrier(Some(Serial(7)));
        check(&visible, &[1, 2, 3, 4, 6]);
        visible.set_barrier(Some(Serial(2)));
        check(&visible, &[1]);
        visible.set_barrier(None);
        check(&visible, &[1, 2, 3, 4, 6, 7]);
        assert_eq!(visible.len(), 6);
    }
}
