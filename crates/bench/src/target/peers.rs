//! Other servers that speak SQS, installed from their registries by name: moto and ministack (PyPI), fauxqs (npm).
//!
//! All keep messages in memory and verify no signatures. They run with their logging off or thrown away, as an
//! operator who cares for speed would run them.

use super::{Name, Places, Recipe};
use std::path::Path;
use std::process::Command;

/// Installs a peer if it is missing. Returns its version and how to start it.
pub(super) fn prepare(name: Name, places: &Places) -> Result<(String, Recipe), String> {
    match name {
        Name::Moto => {
            python_peer("moto", "moto[server]", "moto_server", &["-H", "127.0.0.1", "-p", "PORT"], &[], places)
        }
        Name::Ministack => {
            let environment = [("GATEWAY_PORT", "PORT"), ("BIND_HOST", "127.0.0.1"), ("LOG_LEVEL", "ERROR")];
            python_peer("ministack", "ministack", "ministack", &[], &environment, places)
        }
        Name::Fauxqs => node_peer(places),
        Name::Bare | Name::Fsync | Name::Os | Name::Memory => Err(format!("{} is no peer", name.label())),
    }
}

fn python_peer(
    package: &str,
    requirement: &str,
    script: &str,
    arguments: &[&str],
    environment: &[(&'static str, &str)],
    places: &Places,
) -> Result<(String, Recipe), String> {
    let venv = places.peers.join("venv");
    let program = venv.join("bin").join(script);
    if !program.is_file() {
        let directory = installing(package, &program, places)?;
        if !venv.join("bin/pip").is_file() {
            run(Command::new("python3").args(["-m", "venv"]).arg(&venv), directory)?;
        }
        let mut pip = Command::new(venv.join("bin/pip"));
        run(pip.args(["install", "--quiet", "--disable-pip-version-check", requirement]), directory)?;
    }
    let ask = format!("from importlib.metadata import version; print(version('{package}'))");
    let version = run(Command::new(venv.join("bin/python")).args(["-c", &ask]), &places.peers)?;
    let recipe = Recipe::GivenPort {
        program,
        arguments: arguments.iter().map(|&argument| argument.to_owned()).collect(),
        environment: environment.iter().map(|&(name, value)| (name, value.to_owned())).collect(),
        directory: places.peers.clone(),
    };
    Ok((version, recipe))
}

fn node_peer(places: &Places) -> Result<(String, Recipe), String> {
    let directory = places.peers.join("node");
    let manifest = directory.join("node_modules/fauxqs/package.json");
    if !manifest.is_file() {
        installing("fauxqs", &manifest, places)?;
        std::fs::create_dir_all(&directory).map_err(|error| format!("cannot make {}: {error}", directory.display()))?;
        let mut npm = Command::new("npm");
        run(npm.args(["install", "--silent", "--no-audit", "--prefix", ".", "fauxqs"]), &directory)?;
    }
    let ask = "console.log(require('./node_modules/fauxqs/package.json').version)";
    let version = run(Command::new("node").args(["-e", ask]), &directory)?;
    // Its command line always logs every request; its library can be told not to.
    let start = "import { startFauxqs } from 'fauxqs'; startFauxqs({ port: PORT, logger: false });";
    let recipe = Recipe::GivenPort {
        program: "node".into(),
        arguments: ["--input-type=module", "-e", start].map(str::to_owned).to_vec(),
        environment: Vec::new(),
        directory,
    };
    Ok((version, recipe))
}

/// The directory to install into, if installing is allowed.
fn installing<'a>(package: &str, missing: &Path, places: &'a Places) -> Result<&'a Path, String> {
    if !places.may_install {
        return Err(format!("{} is missing and --no-install was given", missing.display()));
    }
    eprintln!("installing {package} into {} …", places.peers.display());
    std::fs::create_dir_all(&places.peers)
        .map_err(|error| format!("cannot make {}: {error}", places.peers.display()))?;
    Ok(&places.peers)
}

/// Runs a command to its end. Returns what it printed, or the last line of its complaint.
fn run(command: &mut Command, directory: &Path) -> Result<String, String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.current_dir(directory).output().map_err(|error| format!("cannot run {program}: {error}"))?;
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        let last = complaint.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
        return Err(format!("{program} failed: {last}"));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
