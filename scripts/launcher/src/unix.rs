//! Where Linux and macOS keep caches, and how a program replaces another.

use std::env;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

pub const CACHE_VARIABLE: &str = "XDG_CACHE_HOME";

const OTHERS_MAY_WRITE: u32 = 0o022;

/// Returns folders for unpacked contents; the last is for users without a home that can be written.
pub fn places() -> Vec<PathBuf> {
    let of_home = if cfg!(target_os = "macos") {
        "Library/Caches"
    } else {
        ".cache"
    };
    let cache = absolute(CACHE_VARIABLE).or_else(|| Some(absolute("HOME")?.join(of_home)));
    let mut places = Vec::new();
    places.extend(cache.map(|folder| folder.join("mock-kafka").join("unpacked")));
    places.push(env::temp_dir().join(format!("mock-kafka-{}", own_user())));
    places
}

/// Creates a folder in which nobody else writes, or checks that it is one.
pub fn create_private(folder: &Path) -> io::Result<()> {
    if !folder.is_dir() {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
    }
    let found = fs::symlink_metadata(folder)?;
    let has_own_user = found.uid() == own_user() || found.uid() == 0;
    if !found.is_dir() || !has_own_user || found.mode() & OTHERS_MAY_WRITE != 0 {
        return Err(io::Error::other("another user may write there"));
    }
    Ok(())
}

/// Becomes the command, with this process's id, signals and standard streams.
pub fn execute(mut command: Command) -> io::Result<ExitCode> {
    Err(command.exec())
}

fn absolute(variable: &str) -> Option<PathBuf> {
    env::var_os(variable)
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
}

fn own_user() -> u32 {
    unsafe { libc::geteuid() } // it has no preconditions and cannot fail
}
