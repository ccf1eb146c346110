//! What an empty queue costs.

use super::{Figures, MEGABYTE, SENDERS, Settings, encoder};
use crate::load::Connection;
use crate::process;
use serde_json::json;
use std::cell::Cell;
use std::io;
use std::rc::Rc;
use std::time::Instant;
use tokio::task::LocalSet;

pub fn measure(settings: &Settings, figures: &mut Figures) -> io::Result<()> {
    let posthouse = settings.posthouse(&[]);
    let server = posthouse.start()?;
    let started = Instant::now();
    let next = Rc::new(Cell::new(0));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let created: io::Result<()> = runtime.block_on(LocalSet::new().run_until(async {
        let creators: Vec<_> = (0..SENDERS)
            .map(|_| {
                let (next, encoder, address, queues) =
                    (next.clone(), encoder(&server), server.address, settings.queues);
                tokio::task::spawn_local(async move {
                    let mut connection = Connection::new(address);
                    while next.get() < queues {
                        let number = next.replace(next.get() + 1);
                        let request = encoder.json("CreateQueue", &json!({ "QueueName": format!("queue-{number}") }));
                        let reply = connection.call(&request).await.map_err(|error| io::Error::other(error.kind()))?;
                        if reply.status != 200 {
                            let text = String::from_utf8_lossy(reply.body).into_owned();
                            return Err(io::Error::other(format!("cannot make a queue: {text}")));
                        }
                    }
                    Ok(())
                })
            })
            .collect();
        for creator in creators {
            creator.await.map_err(io::Error::other)??;
        }
        Ok(())
    }));
    created?;
    figures.note("queues: made per second", settings.queues as f64 / started.elapsed().as_secs_f64());
    let resident = |pid| process::memory(pid).map(|memory| memory.resident_bytes as f64 / MEGABYTE);
    figures.at_most("queues: resident MB", 200.0, resident(server.pid())?);
    server.kill()?;
    let server = posthouse.start()?;
    figures.note("queues: reopening after kill -9, s", server.first_answer.as_secs_f64());
    figures.note("queues: resident MB after that", resident(server.pid())?);
    server.kill()
}
