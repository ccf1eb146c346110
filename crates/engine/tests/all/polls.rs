//! Long polls: woken at once, and hiding nothing from anybody when their caller hangs up.

use super::*;

/// A long poll in a task of its own, and how many messages it gets.
fn start_poll(engine: &Engine) -> tokio::task::JoinHandle<Result<usize, engine::AskError>> {
    let engine = engine.clone();
    tokio::spawn(async move { engine.receive(receive(1, 30, 20)).await.map(|it| it.into_messages().len()) })
}

/// Lets every other task run until it waits.
async fn let_others_run() {
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_poll_is_woken_by_a_send_and_by_time() {
    for durability in [Durability::Memory, Durability::Fsync] {
        let bench = Bench::new(durability);
        let running = bench.start();
        let engine = running.engine();
        create(&engine).await;

        let poll = start_poll(&engine);
        let_others_run().await;
        assert_eq!(engine.waiting_count(), 1);
        send(&engine, "hello").await.unwrap();
        assert_eq!(poll.await.unwrap(), Ok(1));

        // The message comes back while the next one waits.
        let poll = start_poll(&engine);
        let_others_run().await;
        bench.advance(&running, 20_000);
        assert_eq!(poll.await.unwrap(), Ok(0));
        let poll = start_poll(&engine);
        let_others_run().await;
        bench.advance(&running, 10_000);
        assert_eq!(poll.await.unwrap(), Ok(1));
    }
}

#[tokio::test]
async fn a_caller_that_hung_up_hides_nothing() {
    for durability in [Durability::Memory, Durability::Fsync] {
        let bench = Bench::new(durability);
        let running = bench.start();
        let engine = running.engine();
        create(&engine).await;

        // It hangs up while it waits.
        let poll = start_poll(&engine);
        let_others_run().await;
        assert_eq!(engine.waiting_count(), 1);
        poll.abort();
        let_others_run().await;
        assert_eq!(engine.waiting_count(), 0);

        // It hangs up when the message is on its way.
        send(&engine, "hello").await.unwrap();
        drop(engine.receive(receive(1, 30, 0)).await.unwrap());
        {
            let mut asked = Box::pin(engine.receive(receive(1, 30, 0)));
            let _ = poll_once(&mut asked).await;
        }
        // It is undone once it is known that nobody listens, which a long poll waits for.
        let deliveries = engine.receive(receive(1, 30, 20)).await.unwrap();
        assert_eq!(deliveries.messages().len(), 1);
        assert_eq!(deliveries.messages()[0].0.receive_count, 1, "what nobody heard of doesn't count");
    }
}

/// Polls once, so that it is asked, and lets go.
async fn poll_once<F: Future + Unpin>(future: &mut F) -> bool {
    std::future::poll_fn(|context| std::task::Poll::Ready(std::pin::Pin::new(&mut *future).poll(context).is_ready()))
        .await
}

#[tokio::test]
async fn stopping_answers_those_who_wait() {
    let bench = Bench::new(Durability::Fsync);
    let running = bench.start();
    let engine = running.engine();
    create(&engine).await;
    let poll = start_poll(&engine);
    let_others_run().await;
    running.drain();
    assert_eq!(poll.await.unwrap(), Ok(0));
    tokio::task::spawn_blocking(|| running.stop()).await.unwrap();
    assert!(matches!(send(&engine, "late").await, Err(engine::AskError::Stopped { .. })));
}
