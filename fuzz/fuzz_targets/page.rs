#![no_main]

#[path = "../checks/shard.rs"]
#[allow(dead_code, reason = "each target runs one check")]
mod checks;

libfuzzer_sys::fuzz_target!(|input: &[u8]| checks::page(input));
