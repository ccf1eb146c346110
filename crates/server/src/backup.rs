//! `posthouse backup`: asks a running server for a copy of its data, or copies data that is at rest.

use crate::cli::{Backup, BackupSource};
use bytes::Bytes;
use engine::backup::{Copied, Target, backup_stopped};
use host::disk::RealDisk;
use host::entropy::{Entropy, SystemEntropy};
use http::{Request, StatusCode, Uri, header};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use tokio::net::TcpStream;

/// Makes the copy, and says how much it holds.
///
/// Errors: sentences for people.
pub fn run(backup: &Backup) -> Result<(), String> {
    let cannot = |error| format!("cannot tell where `{}` is: {error}", backup.to.display());
    let to = std::path::absolute(&backup.to).map_err(cannot)?;
    let made = match &backup.from {
        BackupSource { data: Some(data), .. } => of_data_at_rest(data, &to)?,
        BackupSource { url, .. } => of_running_server(url.as_deref().expect("one of the two is given"), &to)?,
    };
    let Made { records, pages, bytes, lsn } = made;
    println!("`{}` holds {records} records and {pages} pages, {bytes} bytes, as of LSN {lsn}", to.display());
    println!("check it with: posthouse journal verify {}", to.display());
    Ok(())
}

/// What a server says of the copy that it made.
#[derive(Deserialize)]
struct Made {
    lsn: u64,
    records: u64,
    pages: u64,
    bytes: u64,
}

fn of_data_at_rest(data: &Path, to: &Path) -> Result<Made, String> {
    let mut identity = [0; 8];
    SystemEntropy::default().fill(&mut identity);
    let target = Target {
        disk: Arc::new(RealDisk),
        dir: to.into(),
        segment_bytes: SEGMENT_BYTES,
        identity: u64::from_le_bytes(identity),
    };
    let Copied { lsn, records, pages, bytes } = backup_stopped(Arc::new(RealDisk), data, &target)?;
    Ok(Made { lsn, records, pages, bytes })
}

/// Length of the copy's segments, where no server's configuration says it.
const SEGMENT_BYTES: u64 = 64 << 20;

fn of_running_server(url: &str, to: &Path) -> Result<Made, String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("cannot start: {error}"))?;
    let (status, answer) = runtime
        .block_on(post(url, &json!({ "to": to })))
        .map_err(|error| format!("cannot ask the server at {url}: {error}"))?;
    if status != StatusCode::OK {
        let reason = answer["error"].as_str().map_or_else(|| status.to_string(), str::to_owned);
        return Err(format!("the server at {url} made no backup: {reason}"));
    }
    serde_json::from_value(answer).map_err(|error| format!("the server at {url} answered something else: {error}"))
}

async fn post(url: &str, body: &Value) -> Result<(StatusCode, Value), String> {
    let uri: Uri = url.parse().map_err(|error| format!("that is no URL: {error}"))?;
    let authority = uri.authority().filter(|_| uri.scheme_str() == Some("http"));
    let authority = authority.ok_or("expected a URL such as http://127.0.0.1:4566")?;
    let address = (authority.host().trim_matches(['[', ']']), authority.port_u16().unwrap_or(80));
    let stream = TcpStream::connect(address).await.map_err(|error| error.to_string())?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(|error| error.to_string())?;
    tokio::spawn(connection);
    let request = Request::post("/_posthouse/backup")
        .header(header::HOST, authority.as_str())
        .header(header::CONTENT_TYPE, "application/json")
        .body(Full::new(Bytes::from(body.to_string())))
        .map_err(|error| error.to_string())?;
    let answer = sender.send_request(request).await.map_err(|error| error.to_string())?;
    let status = answer.status();
    let body = answer.into_body().collect().await.map_err(|error| error.to_string())?.to_bytes();
    Ok((status, serde_json::from_slice(&body).unwrap_or(Value::Null)))
}
