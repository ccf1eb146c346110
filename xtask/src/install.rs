//! What the tests need and a fresh machine lacks: Debian packages, then packages of pip and npm under `target`.
//!
//! ```text
//!   apt   python3-venv, nodejs, npm        only what is missing
//!   pip   conformance/requirements.txt     ▶ target/venv
//!   pip   …/requirements-old-sdk.txt       ▶ target/old-sdk     an SDK that still speaks Query
//!   npm   conformance/js/package.json      ▶ target/node
//! ```
//!
//! A stamp beside each keeps the list that it was made from, so a second run installs nothing.

use crate::run::run_quietly;
use crate::{root, target};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The AWS SDK for JavaScript needs this version.
const NODE_VERSION_MIN: u32 = 20;

pub fn python() -> PathBuf {
    target().join("venv/bin/python")
}

/// Python with boto3, pytest and the AWS CLI, and the older boto3.
///
/// Errors: a sentence that says what failed and what to do.
pub fn install_python() -> Result<(), String> {
    if !runs("python3", &["-c", "import ensurepip, venv"]) {
        apt_install(&["python3-venv"])?;
    }
    let requirements = root().join("conformance/requirements.txt");
    let venv = target().join("venv");
    from_list(&requirements, &venv, || {
        // Not upgraded in place: an interpreter that has moved leaves a broken one behind.
        if venv.exists() {
            fs::remove_dir_all(&venv).map_err(|error| format!("cannot remove {}: {error}", venv.display()))?;
        }
        run_quietly(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
        pip(Command::new(python()).args(["-m", "pip", "install", "--quiet", "-r"]).arg(&requirements))
    })?;
    let requirements = root().join("conformance/requirements-old-sdk.txt");
    let old_sdk = target().join("old-sdk");
    from_list(&requirements, &old_sdk, || {
        let mut command = Command::new(python());
        command.args(["-m", "pip", "install", "--quiet", "--upgrade", "--target"]).arg(&old_sdk);
        pip(command.arg("-r").arg(&requirements))
    })
}

fn pip(command: &mut Command) -> Result<(), String> {
    run_quietly(command)
        .map_err(|said| format!("{said}\nIs PyPI reachable? `pip config list` shows which index pip asks."))
}

/// Node and the AWS SDK for JavaScript.
///
/// Errors: a sentence that says what failed and what to do.
pub fn install_node() -> Result<(), String> {
    if !runs("npm", &["--version"]) || node_version().is_none() {
        apt_install(&["nodejs", "npm"])?;
    }
    match node_version() {
        Some(version) if version >= NODE_VERSION_MIN => {}
        found => {
            let found = found.map_or("none".to_owned(), |version| version.to_string());
            return Err(format!(
                "Node {NODE_VERSION_MIN} or newer is needed, found {found}: Debian 13 has it as `nodejs`; on an older Debian \
                 install a newer one by hand"
            ));
        }
    }
    let list = root().join("conformance/js/package.json");
    let node = target().join("node");
    from_list(&list, &node, || {
        fs::create_dir_all(&node).map_err(|error| format!("cannot make {}: {error}", node.display()))?;
        fs::copy(&list, node.join("package.json"))
            .map_err(|error| format!("cannot copy {}: {error}", list.display()))?;
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-audit", "--no-fund", "--no-package-lock", "--prefix"]).arg(&node).current_dir(&node);
        run_quietly(&mut npm).map_err(|said| {
            format!("{said}\nIs the npm registry reachable? `npm config get registry` shows which one npm asks.")
        })
    })
}

/// Runs `install` unless `place` was already made from the list as it is now.
fn from_list(list: &Path, place: &Path, install: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    let wanted = fs::read_to_string(list).map_err(|error| format!("cannot read {}: {error}", list.display()))?;
    let stamp = place.join("installed-from");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    println!("installing {} into {}", list.display(), place.display());
    install()?;
    fs::write(&stamp, wanted).map_err(|error| format!("cannot write {}: {error}", stamp.display()))
}

fn apt_install(packages: &[&str]) -> Result<(), String> {
    println!("installing Debian's {}", packages.join(", "));
    let apt = |arguments: &[&str]| {
        run_quietly(Command::new("apt-get").args(arguments).env("DEBIAN_FRONTEND", "noninteractive"))
    };
    apt(&["update", "--quiet"])
        .and_then(|()| apt(&[&["install", "--yes", "--quiet", "--no-install-recommends"], packages].concat()))
        .map_err(|said| {
            format!("{said}\nInstall by hand, as root, and run again: apt-get install {}", packages.join(" "))
        })
}

fn node_version() -> Option<u32> {
    let output = Command::new("node").arg("--version").output().ok()?;
    let version = String::from_utf8(output.stdout).ok()?;
    version.trim().strip_prefix('v')?.split('.').next()?.parse().ok()
}

fn runs(program: &str, arguments: &[&str]) -> bool {
    Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success())
}
