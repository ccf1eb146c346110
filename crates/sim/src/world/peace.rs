//! The end of a run: nothing goes wrong any more, and everything must be accounted for.

use super::clients::Asker;
use super::machine::Which;
use super::{Going, World, all_queues};
use host::disk::Survivors;
use model::QueueKey;
use shard::{Answer, Command, Receive, Setting};

/// Rounds of receiving until all is drained, with more and more time between them: in all longer than a message can hide.
const ROUNDS: u64 = 60;

impl World {
    pub(super) fn make_peace(&mut self) -> Going {
        self.trace.line(format_args!("peace"));
        self.die();
        self.disk.set_capacity(u64::MAX);
        self.change_disk(self.disk.power_cut(&Survivors::Everything));
        self.is_small = false;
        self.is_peace = true;
        self.slow_steps = 0;
        self.open()?;
        for round in 0..ROUNDS {
            let mut is_empty = true;
            for queue in all_queues() {
                if self.promises.queue(&queue).is_none() {
                    continue;
                }
                self.drain(&queue)?;
                is_empty &= self.is_empty(&queue)?;
            }
            if is_empty {
                return self.check_at_rest();
            }
            self.clock = self.now().0 + if round < 10 { 1_000 << round } else { 3_600_000 };
            self.advance()?;
        }
        self.broken("there are messages that never come")
    }

    /// Receives and deletes whatever is visible.
    fn drain(&mut self, queue: &QueueKey) -> Going {
        for _ in 0..1_000 {
            let receive = Receive {
                queue: queue.clone(),
                messages_max: 10,
                visibility_seconds: Some(600),
                wait_seconds: Some(0),
            };
            self.held.clear();
            self.receipts.clear();
            self.ask(Command::Receive(receive), Asker::Client)?;
            // It is read before it can be moved.
            self.write_all()?;
            if self.take_held().is_none() {
                self.settle(true)?;
            }
            let has_answer = self.take_held().is_some();
            self.read(0)?;
            let receipts: Vec<_> = self.receipts.drain(..).map(|(_, receipt)| receipt).collect();
            if receipts.is_empty() {
                let has_pages =
                    self.life.as_ref().is_some_and(|life| life.core.shard().frozen_pages().next().is_some());
                if !has_answer && has_pages {
                    // It waits for a page.
                    self.hang_up(0)?;
                }
                return Ok(());
            }
            self.ask(Command::Delete { queue: queue.clone(), receipts }, Asker::Client)?;
            self.settle(false)?;
            self.trace.reached("peace: drained");
        }
        self.broken("there is no end of messages")
    }

    fn is_empty(&mut self, queue: &QueueKey) -> Result<bool, super::Ended> {
        self.held.clear();
        self.ask(Command::Describe { queue: queue.clone() }, Asker::Client)?;
        self.settle(false)?;
        Ok(match self.take_held() {
            Some(Answer::Queue(facts)) => facts.visible + facts.delayed + facts.in_flight == 0,
            _ => true,
        })
    }

    /// Lets the writer and the helpers finish what they can, or go on until a reply has come.
    fn settle(&mut self, until_answered: bool) -> Going {
        self.help(Which::Keeper, 1, false)?;
        self.help(Which::Pager, 1, false)?;
        for _ in 0..2_000 {
            self.write_all()?;
            if until_answered && self.take_held().is_some() {
                return Ok(());
            }
            let is_quiet = self.life.as_ref().is_none_or(|life| life.core.is_quiet());
            if is_quiet && self.is_at_rest(Which::Keeper) && self.is_at_rest(Which::Pager) {
                return Ok(());
            }
            for which in [Which::Keeper, Which::Pager] {
                if !self.is_at_rest(which) {
                    self.help(which, 1, false)?;
                }
            }
        }
        self.broken("the engine never comes to rest")
    }

    /// All was drained: no message is left over, on disk neither.
    fn check_at_rest(&mut self) -> Going {
        for (queue, known) in self.promises.queues() {
            if let Some((serial, _)) = known.certain_messages().next() {
                return self.broken(format!("queue {} is empty, but message {serial} was never deleted", queue.name));
            }
        }
        // Time passes on disk only with an entry: what has expired since the last one goes with this.
        let queue = self.promises.queues().map(|(queue, _)| queue.clone()).next();
        if let Some(queue) = queue {
            self.ask(Command::SetAttributes { queue, settings: vec![Setting::Delay { seconds: 0 }] }, Asker::Nobody)?;
        }
        self.settle(false)?;
        self.help(Which::Keeper, 1, true)?;
        self.settle(false)?;
        if self.is_damaged {
            self.trace.reached("damage: harmless");
            return Ok(());
        }
        let pages = self.store()?.pages().map_err(super::Ended::Broken)?;
        if !pages.is_empty() {
            return self.broken(format!("all is drained, but pages {pages:?} are still there"));
        }
        self.trace.reached("peace: nothing left");
        self.die();
        self.open()
    }
}
