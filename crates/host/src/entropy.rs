//! Chance.

use std::sync::Mutex;

/// Draws random bytes, fit for identifiers and keys.
pub trait Entropy: Send + Sync + 'static {
    fn fill(&self, bytes: &mut [u8]);
}

/// The machine's own source, a block at a time.
#[derive(Default)]
pub struct SystemEntropy {
    pool: Mutex<Pool>,
}

/// Random bytes that were drawn and not handed out yet.
struct Pool {
    bytes: [u8; Self::BYTES],
    used: usize,
}

impl Pool {
    /// One system call draws enough for 256 message ids.
    const BYTES: usize = 4_096;
}

impl Default for Pool {
    fn default() -> Self {
        Self { bytes: [0; Self::BYTES], used: Self::BYTES }
    }
}

impl Entropy for SystemEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        let mut pool = self.pool.lock().expect("drawing randomness never panics half-way");
        for chunk in bytes.chunks_mut(Pool::BYTES) {
            if pool.used + chunk.len() > Pool::BYTES {
                getrandom::fill(&mut pool.bytes).expect("the operating system has randomness once it runs");
                pool.used = 0;
            }
            let (from, to) = (pool.used, pool.used + chunk.len());
            chunk.copy_from_slice(&pool.bytes[from..to]);
            // What was handed out is not kept.
            pool.bytes[from..to].fill(0);
            pool.used = to;
        }
    }
}

/// The same bytes each time for the same seed. For tests only.
#[derive(Debug)]
pub struct FakeEntropy {
    state: Mutex<u64>,
}

impl FakeEntropy {
    pub fn new(seed: u64) -> Self {
        Self { state: Mutex::new(seed) }
    }
}

impl Entropy for FakeEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        let mut state = self.state.lock().expect("drawing randomness never panics half-way");
        for chunk in bytes.chunks_mut(8) {
            // SplitMix64.
            *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut mixed = *state;
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            mixed ^= mixed >> 31;
            chunk.copy_from_slice(&mixed.to_le_bytes()[..chunk.len()]);
        }
    }
}
