//! Panics inside a simulation: caught, and told as the broken promise that they are.

use std::cell::{Cell, RefCell};
use std::sync::Once;

thread_local! {
    static SILENT: Cell<bool> = const { Cell::new(false) };
    static LAST: RefCell<String> = const { RefCell::new(String::new()) };
}

/// From now on panics of this thread are remembered instead of printed.
pub fn silence() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if SILENT.get() {
                LAST.set(info.to_string().replace('\n', " "));
            } else {
                before(info);
            }
        }));
    });
    SILENT.set(true);
}

/// Panics of this thread are printed again.
pub fn speak() {
    SILENT.set(false);
}

/// What the latest panic of this thread said.
pub fn last() -> String {
    LAST.take()
}
