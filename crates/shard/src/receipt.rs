//! Receipt handles: the proof of a delivery, as text.
//!
//! ```text
//! base64( version 1 · queue 8 · serial 8 · delivery 4 · seal 16 )      the seal is an HMAC-SHA256, cut to 16 bytes
//! ```
//!
//! The seal is made with a key of the shard's own, so that nobody can make up a handle: a handle that passes was handed
//! out by this shard. It survives restarts, since the key does.

use hmac::{Hmac, KeyInit, Mac};
use model::{DeliveryNumber, QueueId, Serial};
use sha2::Sha256;

/// One delivery of one message, by its numbers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Receipt {
    pub queue: QueueId,
    pub serial: Serial,
    pub delivery: DeliveryNumber,
}

/// What seals and opens receipt handles.
#[derive(Clone)]
pub struct ReceiptKey {
    secret: [u8; 32],
    hmac: Hmac<Sha256>,
}

const VERSION: u8 = 1;
const SEALED_BYTES: usize = 21;
const SEAL_BYTES: usize = 16;
const HANDLE_BYTES: usize = SEALED_BYTES + SEAL_BYTES;

impl ReceiptKey {
    pub fn new(secret: [u8; 32]) -> Self {
        let hmac = Hmac::<Sha256>::new_from_slice(&secret).expect("HMAC takes keys of any length");
        Self { secret, hmac }
    }

    pub fn secret(&self) -> &[u8; 32] {
        &self.secret
    }

    /// The handle that stands for `receipt`.
    pub fn seal(&self, receipt: Receipt) -> [u8; HANDLE_BYTES] {
        let mut handle = [0; HANDLE_BYTES];
        handle[0] = VERSION;
        handle[1..9].copy_from_slice(&receipt.queue.0.to_be_bytes());
        handle[9..17].copy_from_slice(&receipt.serial.0.to_be_bytes());
        handle[17..21].copy_from_slice(&receipt.delivery.0.to_be_bytes());
        let seal = self.hmac.clone().chain_update(&handle[..SEALED_BYTES]).finalize().into_bytes();
        handle[SEALED_BYTES..].copy_from_slice(&seal[..SEAL_BYTES]);
        handle
    }

    /// The receipt that `handle` stands for; nothing where this shard never handed it out.
    pub fn open(&self, handle: &[u8]) -> Option<Receipt> {
        if handle.len() != HANDLE_BYTES || handle[0] != VERSION {
            return None;
        }
        let (sealed, seal) = handle.split_at(SEALED_BYTES);
        self.hmac.clone().chain_update(sealed).verify_truncated_left(seal).ok()?;
        let number = |from: usize| u64::from_be_bytes(sealed[from..from + 8].try_into().expect("eight bytes"));
        Some(Receipt {
            queue: QueueId(number(1)),
            serial: Serial(number(9)),
            delivery: DeliveryNumber(u32::from_be_bytes(sealed[17..21].try_into().expect("four bytes"))),
        })
    }
}

impl PartialEq for ReceiptKey {
    fn eq(&self, other: &Self) -> bool {
        self.secret == other.secret
    }
}

impl Eq for ReceiptKey {}

impl std::fmt::Debug for ReceiptKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ReceiptKey(secret)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECEIPT: Receipt = Receipt { queue: QueueId(3), serial: Serial(u64::MAX), delivery: DeliveryNumber(7) };

    #[test]
    fn a_handle_stands_for_its_receipt() {
        let key = ReceiptKey::new([1; 32]);
        assert_eq!(key.open(&key.seal(RECEIPT)), Some(RECEIPT));
        assert_eq!(ReceiptKey::new([2; 32]).open(&key.seal(RECEIPT)), None);
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        let key = ReceiptKey::new([1; 32]);
        let handle = key.seal(RECEIPT);
        for bit in 0..handle.len() * 8 {
            let mut handle = handle;
            handle[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(key.open(&handle), None, "bit {bit}");
        }
        assert_eq!(key.open(&handle[..HANDLE_BYTES - 1]), None);
        assert_eq!(key.open(b""), None);
    }
}
