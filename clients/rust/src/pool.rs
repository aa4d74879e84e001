use crate::cluster::Cluster;
use crate::settings::Settings;
use crate::{Error, Result};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::thread::{self, ThreadId};
use std::time::Duration;

const IDLE_MAX: usize = 8;
const LEND_TIMEOUT: Duration = Duration::from_secs(300);

/// The clusters that no test uses; the one that was used last is at the end.
static IDLE: Mutex<Vec<Cluster>> = Mutex::new(Vec::new());
/// The thread that uses the cluster of the environment.
static HOLDER: Mutex<Option<ThreadId>> = Mutex::new(None);
static RETURNED: Condvar = Condvar::new();

/// Returns a cluster that no other test uses; give it back with `take_back`.
pub(crate) fn lend(settings: Settings) -> Result<Cluster> {
    if let Some(shared) = Cluster::of_environment(&settings)? {
        wait_for_the_shared()?;
        return Ok(shared);
    }
    let mut idle = lock(&IDLE);
    while let Some(place) = idle.iter().rposition(|cluster| cluster.settings == settings) {
        let mut cluster = idle.remove(place);
        if cluster.is_running() {
            return Ok(cluster);
        }
    }
    drop(idle);
    Cluster::start(settings)
}

pub(crate) fn take_back(mut cluster: Cluster) {
    if cluster.is_running() {
        let mut idle = lock(&IDLE);
        idle.push(cluster);
        if idle.len() > IDLE_MAX {
            let oldest = idle.remove(0);
            drop(idle);
            drop(oldest);
        }
    } else if lock(&HOLDER).take().is_some() {
        RETURNED.notify_one();
    }
}

fn wait_for_the_shared() -> Result<()> {
    let this = thread::current().id();
    let holder = lock(&HOLDER);
    if *holder == Some(this) {
        let text = "this test has the cluster of the environment already, and there is one only";
        return Err(Error::NotStarted(text.into()));
    }
    let waited = RETURNED.wait_timeout_while(holder, LEND_TIMEOUT, |holder| holder.is_some());
    let (mut holder, result) = waited.unwrap_or_else(|poisoned| poisoned.into_inner());
    if result.timed_out() {
        let text = format!("another test has the cluster of the environment since {LEND_TIMEOUT:?}");
        return Err(Error::NotStarted(text));
    }
    *holder = Some(this);
    Ok(())
}

/// A test that panicked with the lock has left the list as it was.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
