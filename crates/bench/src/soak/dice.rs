//! Chance that can be had again from its seed (xorshift64*).

/// Draws numbers.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        // Its state must not be zero, and seeds in a row must not give draws in a row.
        Self(seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16
    }

    /// From `0` to `end - 1`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    pub fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.below(most - least + 1)
    }

    pub fn in_a_hundred(&mut self, chances: u64) -> bool {
        self.below(100) < chances
    }

    /// Dice of its own for someone else.
    pub fn fork(&mut self) -> Self {
        Self::new(self.next())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_seed_twice_draws_the_same_and_every_number_comes_up() {
        let draw = |seed| {
            let mut dice = Dice::new(seed);
            (0..200).map(|_| dice.between(3, 7)).collect::<Vec<_>>()
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
        assert!((3..=7).all(|number| draw(1).contains(&number)));
        assert!(draw(1).iter().all(|number| (3..=7).contains(number)));
    }
}
