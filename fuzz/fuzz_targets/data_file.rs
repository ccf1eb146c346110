#![no_main]

#[path = "../checks/journal.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|input: &[u8]| checks::data_file(input));
