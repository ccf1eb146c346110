//! What the kernel says about a process: CPU time and memory. Linux only, like `/proc`.

use std::io;
use std::time::Duration;

/// Resident memory of a process, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    pub resident_bytes: u64,
    /// The most it ever was.
    pub resident_bytes_peak: u64,
}

/// CPU time that all threads of a process have used so far, in user space and in the kernel. Steps of 10 ms.
pub fn cpu_time(pid: u32) -> io::Result<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let ticks = cpu_ticks(&stat).ok_or_else(|| io::Error::other(format!("cannot read /proc/{pid}/stat: {stat}")))?;
    Ok(duration(ticks))
}

/// CPU time that all processes of the machine have used so far, or that other machines on the same host took from it.
pub fn machine_cpu_time() -> io::Result<Duration> {
    let stat = std::fs::read_to_string("/proc/stat")?;
    machine_cpu_ticks(&stat).map(duration).ok_or_else(|| io::Error::other("cannot read /proc/stat"))
}

pub fn memory(pid: u32) -> io::Result<Memory> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let field = |name| status_bytes(&status, name).ok_or_else(|| io::Error::other(format!("no {name} for {pid}")));
    Ok(Memory { resident_bytes: field("VmRSS:")?, resident_bytes_peak: field("VmHWM:")? })
}

/// What a process has had written to disks so far, in bytes, as it left the page cache. Zero-filling counts.
pub fn written_bytes(pid: u32) -> io::Result<u64> {
    let counters = std::fs::read_to_string(format!("/proc/{pid}/io"))?;
    let written = counters.lines().find_map(|line| line.strip_prefix("write_bytes: ")?.parse().ok());
    written.ok_or_else(|| io::Error::other(format!("no write_bytes in /proc/{pid}/io")))
}

/// Raises the limit of open files as far as the system lets us, and returns it. Servers that we start inherit it.
pub fn open_files_max() -> u64 {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    // Refused only where the limit cannot be raised; then what we have is what we have.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// `utime` + `stime`, fields 14 and 15. The name before them is in parentheses and may hold anything, spaces included.
fn cpu_ticks(stat: &str) -> Option<u64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(user + system)
}

/// `user`, `nice`, `system` and `steal` of the line that sums up all cores.
fn machine_cpu_ticks(stat: &str) -> Option<u64> {
    let fields: Vec<u64> =
        stat.strip_prefix("cpu ")?.lines().next()?.split_ascii_whitespace().flat_map(str::parse).collect();
    [0, 1, 2, 7].iter().map(|&field| fields.get(field)).sum()
}

fn duration(ticks: u64) -> Duration {
    Duration::from_secs(ticks) / u32::try_from(rustix::param::clock_ticks_per_second()).unwrap_or(100)
}

fn status_bytes(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_ticks_are_user_plus_system() {
        let stat = "42 (a ) b) S 1 42 42 0 -1 4194304 100 200 3 4 700 55 9 9 20 0 8 0 100 1000 200";
        assert_eq!(cpu_ticks(stat), Some(755));
        assert_eq!(cpu_ticks("42 (cut) S 1"), None);
    }

    #[test]
    fn the_machine_is_busy_with_user_nice_system_and_steal() {
        assert_eq!(machine_cpu_ticks("cpu  1 20 300 5 6 7 8 4000 0 0\ncpu0 9 9 9 9 9 9 9 9 9 9\n"), Some(4321));
        assert_eq!(machine_cpu_ticks("cpu  1 20 300\n"), None);
    }

    #[test]
    fn memory_is_told_in_kibibytes() {
        let status = "Name:\tx\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\n";
        assert_eq!(status_bytes(status, "VmRSS:"), Some(1024 * 1024));
        assert_eq!(status_bytes(status, "VmSwap:"), None);
    }

    #[test]
    fn this_process_has_memory() {
        let Memory { resident_bytes, resident_bytes_peak } = memory(std::process::id()).expect("we are running");
        assert!(0 < resident_bytes);
        assert!(resident_bytes <= resident_bytes_peak);
    }
}
