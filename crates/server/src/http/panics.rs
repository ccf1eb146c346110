//! A panic ends one request and nothing else.

use std::any::Any;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::Poll;

/// Runs a future to its end, or to its panic: then says what the panic said.
///
/// What the future shares with others has to be sound after a panic; the engine's own locks refuse to go on.
pub async fn caught<F: Future>(mut future: Pin<&mut F>) -> Result<F::Output, String> {
    poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
        Ok(Poll::Pending) => Poll::Pending,
        Ok(Poll::Ready(output)) => Poll::Ready(Ok(output)),
        Err(panic) => Poll::Ready(Err(said(panic.as_ref()))),
    })
    .await
}

fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic without words".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;

    #[tokio::test]
    async fn a_panic_becomes_an_error() {
        assert_eq!(caught(pin!(async { 1 })).await, Ok(1));
        let later = async {
            tokio::task::yield_now().await;
            panic!("number {}", 2)
        };
        assert_eq!(caught::<_>(pin!(later)).await, Err::<(), _>("number 2".into()));
    }
}
