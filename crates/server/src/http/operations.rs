//! What operators and tests ask: is it up, is it ready, move the clock, make a backup.

use super::App;
use super::{backup, body};
use bytes::Bytes;
use engine::Health;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::request::Parts;
use http::{Method, Response, StatusCode};
use hyper::body::Body;
use serde::Deserialize;
use serde_json::{Value, json};

/// Answers what is no AWS call. `Err` gives back a request that is none of these.
pub async fn answer<B>(app: &App, parts: Parts, body: B) -> Result<Response<Bytes>, (Parts, B)>
where
    B: Body<Data = Bytes> + Unpin,
{
    let is_get = parts.method == Method::GET || parts.method == Method::HEAD;
    match parts.uri.path() {
        "/health" if is_get => Ok(json(StatusCode::OK, &json!({ "status": "up" }))),
        "/ready" if is_get => Ok(ready(&app.engine.health())),
        "/" if is_get && parts.uri.query().is_none() => Ok(json(StatusCode::OK, &greeting())),
        path if path.starts_with("/_posthouse/") => Ok(own(app, &parts, body).await),
        _ => Err((parts, body)),
    }
}

fn greeting() -> Value {
    json!({
        "service": "posthouse",
        "version": env!("CARGO_PKG_VERSION"),
        "about": "A message service that speaks the Amazon SQS API. Point an AWS SDK's endpoint URL here.",
    })
}

/// Ready as long as anything is accepted: with a full disk, messages are still received and deleted.
fn ready(health: &Health) -> Response<Bytes> {
    match health {
        Health::Ok => json(StatusCode::OK, &json!({ "status": "ready" })),
        Health::Full => json(
            StatusCode::OK,
            &json!({ "status": "full", "reason": "the disk is full: sends are refused until there is room" }),
        ),
        Health::Stopped { reason } => {
            json(StatusCode::SERVICE_UNAVAILABLE, &json!({ "status": "stopped", "reason": reason }))
        }
    }
}

async fn own<B>(app: &App, parts: &Parts, body: B) -> Response<Bytes>
where
    B: Body<Data = Bytes> + Unpin,
{
    if parts.uri.path() == "/_posthouse/backup" {
        return backup::answer(app, parts, body).await;
    }
    if parts.uri.path() != "/_posthouse/clock/advance" || app.test_clock.is_none() {
        return json(StatusCode::NOT_FOUND, &json!({ "error": "there is nothing here" }));
    }
    if parts.method != Method::POST {
        return json(StatusCode::METHOD_NOT_ALLOWED, &json!({ "error": "advancing the clock is a POST" }));
    }
    let mut claim = app.body_budget.claim();
    let read = body::read(parts, body, app.body_limits, &mut claim).await;
    let milliseconds = read.map_err(|error| error.message).and_then(|body| asked_milliseconds(&body));
    match milliseconds {
        Ok(milliseconds) => json(StatusCode::OK, &json!({ "now_milliseconds": app.advance_clock(milliseconds) })),
        Err(reason) => json(StatusCode::BAD_REQUEST, &json!({ "error": reason })),
    }
}

/// Longest step of the test clock, in seconds. Chosen: about 30 years, so that no sum of steps that a test takes overflows.
const ADVANCE_SECONDS_MAX: f64 = 1e9;

fn asked_milliseconds(body: &[u8]) -> Result<u64, String> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Advance {
        seconds: f64,
    }
    let Advance { seconds } = serde_json::from_slice(body)
        .map_err(|error| format!("expected a body such as {{\"seconds\": 60}}: {error}"))?;
    if !(0.0..=ADVANCE_SECONDS_MAX).contains(&seconds) {
        return Err(format!("expected seconds from 0 to {ADVANCE_SECONDS_MAX}: time never goes back"));
    }
    Ok((seconds * 1_000.0).round() as u64)
}

pub fn json(status: StatusCode, value: &Value) -> Response<Bytes> {
    let mut response = Response::new(Bytes::from(value.to_string() + "\n"));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_moves_forward_only() {
        assert_eq!(asked_milliseconds(br#"{"seconds": 86400}"#), Ok(86_400_000));
        assert_eq!(asked_milliseconds(br#"{"seconds": 0.5}"#), Ok(500));
        for wrong in
            ["", "{}", "60", r#"{"seconds": -1}"#, r#"{"seconds": 1e10}"#, r#"{"seconds": "1"}"#, r#"{"second": 1}"#]
        {
            asked_milliseconds(wrong.as_bytes()).expect_err(wrong);
        }
    }

    #[test]
    fn ready_says_why_not() {
        assert_eq!(ready(&Health::Ok).status(), 200);
        assert_eq!(ready(&Health::Full).status(), 200);
        let stopped = ready(&Health::Stopped { reason: "the journal failed".into() });
        assert_eq!(stopped.status(), 503);
        assert!(String::from_utf8_lossy(stopped.body()).contains("the journal failed"));
    }
}
