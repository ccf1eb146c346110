//! The way of a request.
//!
//! ```text
//!   page allowed? ─▶ operations endpoint? ─▶ body ─▶ detect ─▶ who, where ─▶ decode ─▶ authorize ─▶ carry out ─▶ reply
//!        │                                    │        │                       │           │            │
//!        └────────────────────────────────────┴────────┴───────── error ◀──────┴───────────┴────────────┘
//! ```
//!
//! A client that hangs up drops the future, wherever it stands; the engine then undoes a receive.

use super::{App, body, operations, origin, panics, place};
use api::{Error, ErrorKind};
use auth::Caller;
use bytes::Bytes;
use http::header::{HeaderName, HeaderValue, ORIGIN};
use http::request::Parts;
use http::{Method, Request, Response};
use http_body_util::Full;
use hyper::body::Body;
use service::{Context, Dispatch, Handle};
use std::pin::pin;
use wire::{Call, Rejected, WireProtocol};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-amzn-requestid");

/// Answers a request. Whatever happens, there is an answer.
pub async fn answer<B>(app: &App, request: Request<B>) -> Response<Full<Bytes>>
where
    B: Body<Data = Bytes> + Unpin,
{
    let id = app.request_id();
    let id = std::str::from_utf8(&id).expect("hex digits and dashes are ASCII");
    let (parts, body) = request.into_parts();
    let protocol = wire::protocol(&parts);
    let may_ask = origin::may_ask(&parts, &app.cors_origins);
    let page = parts.headers.get(ORIGIN).filter(|_| may_ask).cloned();

    let answered = pin!(async {
        if may_ask { routed(app, protocol, parts, body, id).await } else { wire::error(protocol, &other_page(), id) }
    });
    let mut response = match panics::caught(answered).await {
        Ok(response) => response,
        Err(panic) => {
            tracing::error!(request_id = id, panic, "a request ended in a panic");
            let error = Error::new(ErrorKind::InternalFailure, "The server has made a mistake. Its log says more.");
            wire::error(protocol, &error, id)
        }
    };
    if !response.headers().contains_key(REQUEST_ID) {
        response.headers_mut().insert(REQUEST_ID, HeaderValue::from_str(id).expect("hex digits and dashes are ASCII"));
    }
    if let Some(page) = page {
        origin::allow(response.headers_mut(), page);
    }
    tracing::debug!(request_id = id, status = response.status().as_u16(), "answered");
    response.map(Full::new)
}

fn other_page() -> Error {
    Error::new(
        ErrorKind::AccessDenied,
        "Pages of this origin may not use this server. Allow it with the setting cors_origins.",
    )
}

async fn routed<B>(app: &App, protocol: WireProtocol, parts: Parts, body: B, id: &str) -> Response<Bytes>
where
    B: Body<Data = Bytes> + Unpin,
{
    if parts.method == Method::OPTIONS {
        return origin::preflight(&parts);
    }
    match operations::answer(app, parts, body).await {
        Ok(response) => response,
        Err((parts, body)) => match called(app, protocol, parts, body, id).await {
            Ok(response) => response,
            Err(Rejected { protocol, error }) => wire::error(protocol, &error, id),
        },
    }
}

/// Carries out an AWS call.
async fn called<B>(
    app: &App,
    protocol: WireProtocol,
    parts: Parts,
    body: B,
    id: &str,
) -> Result<Response<Bytes>, Rejected>
where
    B: Body<Data = Bytes> + Unpin,
{
    let mut claim = app.body_budget.claim();
    let rejected = |error| Rejected { protocol, error };
    let body = body::read(&parts, body, app.body_limits, &mut claim).await.map_err(rejected)?;
    let call = wire::detect(&parts, body)?;
    tracing::debug!(request_id = id, operation = call.operation, "called");
    let context = context(app, &parts);
    // A long poll takes a while, and the head of its request isn't needed any more.
    drop(parts);
    let (service, operation) = (call.service, call.operation.clone());
    let outcome = service::dispatch(service, &operation, CarryOut { call, context: &context, id }).await;
    outcome.and_then(|outcome| outcome).map_err(rejected)
}

fn context(app: &App, parts: &Parts) -> Context {
    let scope = wire::credential_scope(parts);
    let named = if scope.is_none() { place::region(parts) } else { None };
    let region = named.as_ref().unwrap_or(&app.default_region);
    Context {
        engine: app.engine.clone(),
        caller: Caller::unverified(scope.as_ref(), &app.default_account, region),
        base_url: app.public_url.clone().unwrap_or_else(|| place::base_url(parts, &app.listen_authority)),
        rules: app.rules.clone(),
    }
}

/// Decodes, carries out and replies, for whichever operation it is.
struct CarryOut<'a> {
    call: Call,
    context: &'a Context,
    id: &'a str,
}

impl Dispatch for CarryOut<'_> {
    type Output = Result<Response<Bytes>, Error>;

    async fn run<O: Handle>(mut self) -> Self::Output {
        let request: O = self.call.decode()?;
        self.call.forget_members();
        let reply = service::carry_out(request, self.context).await?;
        Ok(wire::reply(&self.call, &reply, self.id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;
    use host::clock::SystemClock;
    use host::disk::FakeDisk;
    use host::entropy::{Entropy, FakeEntropy};
    use http_body_util::BodyExt;
    use hyper::body::Frame;
    use std::convert::Infallible;
    use std::pin::Pin;
    use std::sync::Arc;
    use std::task::{self, Poll};

    fn app() -> App {
        let settings = Settings::read(&Default::default()).expect("defaults fit");
        let entropy: Arc<dyn Entropy> = Arc::new(FakeEntropy::new(1));
        let running = engine::start(engine::Options {
            durability: engine::Durability::Memory,
            ..engine::Options::new("none".into(), Arc::new(SystemClock), entropy.clone(), Arc::new(FakeDisk::new(0)))
        });
        let running = running.expect("an engine in memory starts");
        App::new(&settings, settings.listen, running, Default::default(), entropy, None)
    }

    /// A body that stands for any mistake of ours.
    struct Mistake;

    impl Body for Mistake {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            self: Pin<&mut Self>,
            _: &mut task::Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            panic!("what went wrong inside")
        }
    }

    #[tokio::test]
    async fn a_panic_is_answered_in_the_caller_s_protocol_and_harms_nobody_else() {
        let app = app();
        for (target, expected) in
            [(Some("AmazonSQS.ListQueues"), r#"#InternalFailure","message""#), (None, "<Code>InternalFailure</Code>")]
        {
            let request = target.map_or(Request::post("/"), |target| Request::post("/").header("X-Amz-Target", target));
            let response = answer(&app, request.body(Mistake).expect("a request")).await;
            assert_eq!(response.status(), 500);
            assert_eq!(response.headers()[REQUEST_ID].len(), 36);
            let body = response.into_body().collect().await.expect("it is in memory").to_bytes();
            let body = String::from_utf8_lossy(&body);
            assert!(body.contains(expected) && !body.contains("inside"), "{body}");
        }
        let request = Request::get("/?Action=ListQueues").body(Full::<Bytes>::default());
        assert_eq!(answer(&app, request.expect("a request")).await.status(), 200);
    }
}
