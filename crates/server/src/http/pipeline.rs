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
