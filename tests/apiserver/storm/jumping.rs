//! The machine's clock is set back and forth, by hours and by days, while calls are in progress; then the operator is
//! restarted under each of these clocks.

use std::io::Write as _;
use std::os::unix::fs::FileExt as _;

use crate::prelude::*;

/// Makes a process see another time of day. Only `CLOCK_REALTIME` changes: the monotonic clock does not.
const LIBRARY: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static volatile long *offset;
__attribute__((constructor)) static void start(void) {
    int file = open(getenv("CLOCK_OFFSET"), O_RDONLY);
    void *page = mmap(0, sizeof(long), PROT_READ, MAP_SHARED, file, 0);
    if (file < 0 || page == MAP_FAILED) abort();
    offset = page;
}
int clock_gettime(clockid_t id, struct timespec *at) {
    int answer = syscall(SYS_clock_gettime, id, at);
    if (id == CLOCK_REALTIME && offset) at->tv_sec += *offset;
    return answer;
}
"#;

/// An adjustable clock of a process.
#[derive(Clone)]
pub(crate) struct Jumping {
    library: PathBuf,
    offset: PathBuf,
}

impl Jumping {
    fn new(folder: &Path) -> Self {
        let (source, library) = (folder.join("clock.c"), folder.join("clock.so"));
        std::fs::write(&source, LIBRARY).unwrap();
        let compiled =
            std::process::Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).status();
        assert!(compiled.expect("cc is installed, since Rust links with it").success());
        let offset = folder.join("clock");
        std::fs::File::create(&offset).unwrap().write_all(&[0; 8]).unwrap();
        Self { library, offset }
    }

    /// Returns the environment that makes a process use it.
    pub(crate) fn environment(&self) -> [(&'static str, &Path); 2] {
        [("LD_PRELOAD", &self.library), ("CLOCK_OFFSET", &self.offset)]
    }

    /// Sets its difference from the real clock, for all processes that use it.
    fn set(&self, seconds: i64) {
        let file = std::fs::File::options().write(true).open(&self.offset).unwrap();
        file.write_all_at(&seconds.to_ne_bytes(), 0).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn setting_the_clock_neither_stops_nor_repeats_anything() {
    const HOUR: i64 = 3_600;
    const DAY: i64 = 24 * HOUR;
    let resources = pick(12, 40);
    // Slow calls, so that the clock often jumps in the middle of one.
    let slow = |operation| {
        let answer = FaultAnswer { delay_ms: 300, ..FaultAnswer::default() };
        Fault { share: Some(0.5), ..Fault::of(operation, answer) }
    };
    let faults = ["createDeployment", "updateDeploymentById", "deleteDeploymentById"].map(slow);
    let options =
        Options { deploy_duration: Duration::from_millis(1_500), faults: faults.into(), ..Options::default() };
    let env = Environment::open("jumping", options).await;
    let folder = tempfile::tempdir().unwrap();
    let clock = Jumping::new(folder.path());
    let mut start = env.operator();
    start.clock = Some(clock.clone());

    let mut chance = size::chance("jumping", "clock");
    let storm = async {
        let mut operator = start.now();
        for restarts in [false, true] {
            for offset in [HOUR, 0, -HOUR, 0, DAY, 0, -DAY, DAY, -DAY] {
                tokio::time::sleep(Duration::from_secs(3).mul_f64(chance.random_range(0.0..1.0))).await;
                clock.set(offset);
                if restarts {
                    operator = Operator::restart(operator).await;
                }
            }
        }
        operator
    };
    let operator = life::lives(&env, resources, Duration::from_secs(2), storm).await;
    Report::at_the_end(&env, vec![operator], &[("jumps", 18)]).await;
}
