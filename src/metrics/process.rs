//! Memory and processor time of this process, from the kernel (Linux, `/proc/self`). Not available on other systems.

use std::fs;

/// Ticks per second of the times in `/proc/self/stat`: `USER_HZ` is 100 on every Linux architecture that we support.
const TICKS: f64 = 100.0;

/// Processor time used so far, in seconds.
pub(super) fn cpu_seconds() -> Option<f64> {
    cpu(&fs::read_to_string("/proc/self/stat").ok()?)
}

/// Resident memory, in bytes.
pub(super) fn memory_bytes() -> Option<u64> {
    memory(&fs::read_to_string("/proc/self/status").ok()?)
}

/// Parses fields 14 and 15 of `stat` (proc(5)). Field 2 may contain blanks and brackets, so counting starts at its end.
fn cpu(stat: &str) -> Option<f64> {
    let mut fields = stat.rsplit_once(") ")?.1.split(' ').skip(11);
    let user: u32 = fields.next()?.parse().ok()?;
    let system: u32 = fields.next()?.parse().ok()?;
    Some((f64::from(user) + f64::from(system)) / TICKS)
}

fn memory(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    kilobytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_the_kernel_are_read_as_proc_5_says() {
        let stat = "42 (a ) name) S 1 42 42 0 -1 4194560 1234 0 0 0 150 50 0 0 20 0 9 0 100 1000 200";
        assert_eq!(cpu(stat), Some(2.0));
        assert_eq!(memory("Name:\tx\nVmRSS:\t    2048 kB\nThreads:\t9\n"), Some(2_097_152));
        for broken in ["", "42 (x", "VmRSS: much"] {
            assert_eq!((cpu(broken), memory(broken)), (None, None), "{broken}");
        }
    }
}
