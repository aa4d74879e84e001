//! Where Windows keeps caches, and how a process ends with the one that started it.

use std::env;
use std::fs;
use std::io;
use std::mem;
use std::os::windows::io::AsRawHandle;
use std::path::{Path, PathBuf};
use std::process::{self, Command, ExitCode};
use std::ptr;

use windows_sys::core::BOOL;
use windows_sys::Win32::Foundation::TRUE;
use windows_sys::Win32::System::Console::SetConsoleCtrlHandler;
use windows_sys::Win32::System::JobObjects::{
    AssignProcessToJobObject, CreateJobObjectW, JobObjectExtendedLimitInformation,
    SetInformationJobObject, JOBOBJECT_EXTENDED_LIMIT_INFORMATION,
    JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
};

pub const CACHE_VARIABLE: &str = "LOCALAPPDATA";

/// Returns folders for unpacked contents. Both belong to the user.
pub fn places() -> Vec<PathBuf> {
    let cache = env::var_os(CACHE_VARIABLE)
        .map(PathBuf::from)
        .filter(|path| path.is_absolute());
    let mut places = Vec::new();
    places.extend(cache.map(|folder| folder.join("mock-kafka").join("unpacked")));
    places.push(env::temp_dir().join("mock-kafka"));
    places
}

pub fn create_private(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}

/// Runs the command, which ends with this process, and returns its exit code.
pub fn execute(mut command: Command) -> io::Result<ExitCode> {
    // Ctrl-C reaches both processes: the command stops, and this one waits for it.
    succeeded(unsafe { SetConsoleCtrlHandler(Some(leave_to_command), TRUE) })?;
    let mut child = command.spawn()?;
    let job = unsafe { CreateJobObjectW(ptr::null(), ptr::null()) };
    if job.is_null() {
        return Err(io::Error::last_os_error());
    }
    let mut limits = JOBOBJECT_EXTENDED_LIMIT_INFORMATION::default();
    limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
    succeeded(unsafe {
        SetInformationJobObject(
            job,
            JobObjectExtendedLimitInformation,
            ptr::from_ref(&limits).cast(),
            mem::size_of_val(&limits) as u32,
        )
    })?;
    succeeded(unsafe { AssignProcessToJobObject(job, child.as_raw_handle()) })?;
    let status = child.wait()?;
    process::exit(status.code().unwrap_or(1)) // an ExitCode has eight bits, and Windows' more
}

unsafe extern "system" fn leave_to_command(_event: u32) -> BOOL {
    TRUE
}

fn succeeded(result: BOOL) -> io::Result<()> {
    if result == 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
