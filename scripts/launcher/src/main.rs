//! Runs the Python and the packages that this program contains.
//!
//! The first run unpacks them into a folder of the user's cache, which later runs find. Each content
//! has a separate folder, so versions do not meet.

#[cfg_attr(unix, path = "unix.rs")]
#[cfg_attr(windows, path = "windows.rs")]
mod system;

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{self, Command, ExitCode};
use std::time::{SystemTime, UNIX_EPOCH};

static CONTENT: &[u8] = include_bytes!(env!("MOCK_KAFKA_CONTENT"));
const NAME: &str = env!("MOCK_KAFKA_CONTENT_NAME");
const PYTHON: &str = env!("MOCK_KAFKA_CONTENT_PYTHON");
const PROGRAM: &str = "mock-kafka.py";
/// Of the window in which zstd finds repetitions; it was compressed with no more.
const WINDOW_LOG_MAX: u32 = 27;

fn main() -> ExitCode {
    run().unwrap_or_else(|problem| {
        eprintln!("mock-kafka: {problem}");
        ExitCode::FAILURE
    })
}

fn run() -> Result<ExitCode, String> {
    let home = unpacked()?;
    let python = home.join(PYTHON);
    let mut command = Command::new(&python);
    // -I: neither the environment nor the current folder changes what is imported.
    command
        .arg("-I")
        .arg(home.join(PROGRAM))
        .args(env::args_os().skip(1));
    system::execute(command).map_err(|error| format!("{}: {error}", python.display()))
}

/// Returns the folder of the unpacked content, of the first place that can have it.
fn unpacked() -> Result<PathBuf, String> {
    let mut problems = Vec::new();
    for place in system::places() {
        let home = place.join(NAME);
        match unpack_once(&place, &home) {
            Ok(()) => return Ok(home),
            Err(error) => problems.push(format!("{}: {error}", place.display())),
        }
    }
    Err(format!(
        "it unpacks itself once, and found no folder to do so; set {} to one that is yours ({})",
        system::CACHE_VARIABLE,
        problems.join("; ")
    ))
}

fn unpack_once(place: &Path, home: &Path) -> io::Result<()> {
    system::create_private(place)?;
    if home.is_dir() {
        return Ok(());
    }
    // The rename makes it complete at once, for others that start now, and if this process ends early.
    let since_epoch = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let unfinished = place.join(format!(
        "{NAME}.{}.{}",
        process::id(),
        since_epoch.as_nanos()
    ));
    let done = unpack(&unfinished).and_then(|()| fs::rename(&unfinished, home));
    if done.is_err() {
        let _ = fs::remove_dir_all(&unfinished);
        if home.is_dir() {
            return Ok(()); // another process was faster
        }
    }
    done
}

fn unpack(folder: &Path) -> io::Result<()> {
    let mut decoder = zstd::Decoder::with_buffer(CONTENT)?;
    decoder.window_log_max(WINDOW_LOG_MAX)?;
    let mut archive = tar::Archive::new(decoder);
    archive.set_preserve_mtime(false);
    archive.unpack(folder)
}
