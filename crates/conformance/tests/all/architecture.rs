//! What ARCHITECTURE.md says always holds, as far as the source text can tell.

use std::fs;
use std::path::{Path, PathBuf};

/// The crates of the product, each with those of ours that it may import. Test crates may import any.
const LAYERS: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("host", &[]),
    ("api", &["model"]),
    ("auth", &["model"]),
    ("shard", &["model"]),
    ("journal", &["host"]),
    ("wire", &["api", "auth", "model"]),
    ("engine", &["shard", "journal", "host", "model"]),
    ("service", &["api", "auth", "engine", "host", "model", "shard"]),
    ("server", &["api", "auth", "engine", "host", "journal", "model", "service", "shard", "wire"]),
];

/// What only some crates may say, and who.
const WORDS: &[(&str, &[&str])] = &[
    ("SystemTime", &["host"]),
    ("Instant::now", &["host"]),
    ("getrandom", &["host"]),
    ("std::fs", &["host", "server"]),
    ("serde_json", &["wire", "service", "server"]),
    ("std::env", &["server"]),
    ("async ", &["engine", "service", "server"]),
    ("HashMap", &["host", "server"]),
    ("println!", &["server"]),
];

fn crate_dir(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name)
}

/// The source files of a crate, without its tests.
fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).expect("a source folder can be read") {
        let path = entry.expect("a source folder can be read").path();
        let name = path.file_name().and_then(|name| name.to_str()).expect("source files have plain names").to_owned();
        if path.is_dir() {
            sources(&path, found);
        } else if name.ends_with(".rs") && !name.contains("tests") {
            found.push(path);
        }
    }
}

#[test]
fn imports_only_point_down() {
    for (name, allowed) in LAYERS {
        let manifest = fs::read_to_string(crate_dir(name).join("Cargo.toml")).expect("a crate has a manifest");
        let (_, after) = manifest.split_once("[dependencies]").expect("a crate has dependencies");
        let dependencies = after.split("\n[").next().expect("there is a part before any other section");
        for line in dependencies.lines() {
            let dependency = line.split(['.', ' ', '=']).next().unwrap_or_default();
            let is_ours = LAYERS.iter().any(|(ours, _)| *ours == dependency);
            assert!(!is_ours || allowed.contains(&dependency), "`{name}` may not import `{dependency}`");
        }
    }
}

#[test]
fn every_crate_keeps_to_its_business() {
    for (name, _) in LAYERS {
        let mut files = Vec::new();
        sources(&crate_dir(name).join("src"), &mut files);
        assert!(!files.is_empty(), "`{name}` has sources");
        for file in files {
            let text = fs::read_to_string(&file).expect("a source file can be read");
            let text = text.split("#[cfg(test)]").next().expect("there is a part before the tests");
            for (number, line) in text.lines().enumerate() {
                let code = line.split("//").next().expect("there is a part before a comment");
                for (word, allowed) in WORDS {
                    let at = format!("{}:{}", file.display(), number + 1);
                    assert!(!code.contains(word) || allowed.contains(name), "{at}: `{name}` may not say `{word}`");
                }
            }
        }
    }
}
