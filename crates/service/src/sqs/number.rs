//! The numbers that a message attribute of type Number can hold.
//!
//! Source: SQS Developer Guide, Message metadata: 38 digits of precision, from 10^-128 to 10^126. Chosen: the text is
//! kept, received and digested as it was sent, though AWS speaks of trimming zeros.

const DIGITS_MAX: usize = 38;
const POWER_MIN: i64 = -128;
const POWER_MAX: i64 = 126;

/// Whether `text` is a decimal number (`-1`, `19.12`, `.5`, `1e-3`) within the range.
pub(super) fn is_number(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = || whole.bytes().chain(fraction.bytes());
    if digits().next().is_none() || !digits().all(|digit| digit.is_ascii_digit()) {
        return false;
    }
    let Ok(exponent) = exponent.parse::<i32>() else { return false };

    let significant = |digit: u8| digit != b'0';
    let Some(first) = digits().position(significant) else { return true };
    let last = digits().enumerate().filter(|&(_, digit)| significant(digit)).map(|(at, _)| at).last().unwrap_or(first);
    let precision = last - first + 1;
    // The power of ten that the first significant digit counts.
    let power = whole.len() as i64 - 1 - first as i64 + i64::from(exponent);
    let is_largest = power == POWER_MAX && precision == 1 && digits().nth(first) == Some(b'1');
    precision <= DIGITS_MAX && ((POWER_MIN..POWER_MAX).contains(&power) || is_largest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        let nines = "9".repeat(38);
        let padded = format!("000{nines}000.000");
        let small = format!("0.{}1", "0".repeat(127));
        let large = format!("1{}", "0".repeat(126));
        for good in [
            "0", "-0", "1", "+1", "-1", "007", "19.12", "5.", ".5", "1e5", "1E+5", "1e-5", "0e0", "0.000", &nines,
            &padded, &small, &large, "1e126", "10e125", "9.9e125", "1e-128", "-1e126", "100e-130",
        ] {
            assert!(is_number(good), "{good}");
        }
        let long = format!("{nines}1");
        let too_small = format!("0.{}1", "0".repeat(128));
        for bad in [
            "",
            "+",
            "-",
            ".",
            "e5",
            "1e",
            "1e+",
            "1e5.0",
            "--1",
            "abc",
            "0x10",
            "1,000",
            "1 ",
            " 1",
            "NaN",
            "inf",
            "1_000",
            "1.2.3",
            "1e5e5",
            "٣",
            &long,
            &too_small,
            "2e126",
            "1.1e126",
            "1e127",
            "9e-129",
            "1e99999999999",
        ] {
            assert!(!is_number(bad), "{bad}");
        }
    }
}
