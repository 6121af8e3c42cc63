//! Starts a peer in its own process group, waits until it listens, and kills it at the end of the test.

use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub(crate) struct Peer {
    child: Child,
}

impl Peer {
    pub(crate) fn start(mut command: Command, ports: &[u16]) -> Peer {
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0).spawn();
        let mut peer = Peer { child: child.unwrap_or_else(|error| panic!("{command:?}: {error}")) };
        let begun = Instant::now();
        while !ports.iter().all(|port| TcpStream::connect(("127.0.0.1", *port)).is_ok()) {
            let ended = peer.child.try_wait().expect("the state of a child");
            assert!(
                ended.is_none() && begun.elapsed() < Duration::from_secs(90),
                "{command:?} does not listen: {ended:?}"
            );
            std::thread::sleep(Duration::from_millis(50));
        }
        peer
    }
}

/// Kills the whole group, with the peer's own children.
impl Drop for Peer {
    fn drop(&mut self) {
        let _ = Command::new("kill").args(["-KILL", "--", &format!("-{}", self.child.id())]).status();
        let _ = self.child.wait();
    }
}

pub(crate) fn directory() -> PathBuf {
    let set = std::env::var_os("PLEACH_PEERS_DIR");
    PathBuf::from(set.expect(
        "PLEACH_PEERS_DIR is not set: run ./test peers, or `export PLEACH_PEERS_DIR=\"$(scripts/peers)\"` first",
    ))
}

pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback port");
    listener.local_addr().expect("a bound address").port()
}
