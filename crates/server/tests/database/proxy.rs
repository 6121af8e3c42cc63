//! A proxy in front of PostgreSQL that can fall silent, as a dead firewall or a failed-over network does: it closes nothing.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

#[derive(Default)]
struct State {
    opened: AtomicU64,
    /// Connections with a smaller number carry nothing any more.
    silent_below: AtomicU64,
    /// New ones do not either.
    silent: AtomicBool,
    /// New ones are told that the server is starting up.
    starting: AtomicBool,
    /// The next connection that commits a message hears nothing from then on.
    lose_commit: AtomicBool,
    lost_commits: AtomicU64,
}

pub struct Proxy {
    state: Arc<State>,
    port: u16,
}

impl Proxy {
    /// Before the server of this URL, `postgres://user:password@host:port/…`.
    pub fn before(url: &str) -> Proxy {
        let place = url.split('@').nth(1).and_then(|rest| rest.split('/').next()).expect("a host").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let state = Arc::<State>::default();
        let shared = state.clone();
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let (state, place) = (shared.clone(), place.clone());
                std::thread::spawn(move || serve(&state, client, &place));
            }
        });
        Proxy { state, port }
    }

    /// The same database by way of here.
    pub fn url(&self, url: &str) -> String {
        let (who, rest) = url.split_once('@').expect("a user");
        let (_, database) = rest.split_once('/').expect("a database");
        format!("{who}@127.0.0.1:{}/{database}", self.port)
    }

    /// Connections that are open carry nothing any more; new ones work.
    pub fn silence_open(&self) {
        self.state.silent_below.store(self.state.opened.load(Ordering::SeqCst), Ordering::SeqCst);
    }

    pub fn silence_all(&self) {
        self.state.silent.store(true, Ordering::SeqCst);
        self.silence_open();
    }

    pub fn set_starting(&self, starting: bool) {
        self.state.starting.store(starting, Ordering::SeqCst);
    }

    /// The answer to the next commit of a message is swallowed.
    pub fn lose_next_commit(&self) {
        self.state.lose_commit.store(true, Ordering::SeqCst);
    }

    pub fn lost_commits(&self) -> u64 {
        self.state.lost_commits.load(Ordering::SeqCst)
    }

    pub fn opened(&self) -> u64 {
        self.state.opened.load(Ordering::SeqCst)
    }
}

fn serve(state: &Arc<State>, client: TcpStream, place: &str) {
    let number = state.opened.fetch_add(1, Ordering::SeqCst);
    if state.silent.load(Ordering::SeqCst) {
        // Kept open, and never answered.
        drain(client);
        return;
    }
    if state.starting.load(Ordering::SeqCst) {
        return say_starting(client);
    }
    let Ok(server) = TcpStream::connect(place) else { return };
    let (Ok(from_server), Ok(to_client)) = (server.try_clone(), client.try_clone()) else { return };
    let deaf = Arc::new(AtomicBool::new(false));
    let (answers, muted) = (state.clone(), deaf.clone());
    std::thread::spawn(move || {
        pump(from_server, to_client, |_| {
            number >= answers.silent_below.load(Ordering::SeqCst) && !muted.load(Ordering::SeqCst)
        })
    });
    let mut said = false;
    pump(client, server, |bytes| {
        said |= holds(bytes, b"run.message_queued");
        let commits = said && holds(bytes, b"COMMIT\0");
        if commits && state.lose_commit.swap(false, Ordering::SeqCst) {
            deaf.store(true, Ordering::SeqCst);
            state.lost_commits.fetch_add(1, Ordering::SeqCst);
        }
        number >= state.silent_below.load(Ordering::SeqCst)
    });
}

fn holds(bytes: &[u8], text: &[u8]) -> bool {
    bytes.windows(text.len()).any(|window| window == text)
}

/// What may not pass is swallowed.
fn pump(mut from: TcpStream, mut to: TcpStream, mut may_pass: impl FnMut(&[u8]) -> bool) {
    let mut buffer = [0; 64 * 1024];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        if may_pass(&buffer[..length]) && to.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}

fn drain(mut client: TcpStream) {
    let mut buffer = [0; 1024];
    while let Ok(1..) = client.read(&mut buffer) {}
}

/// As a server in recovery: no TLS, then the refusal in its own words.
fn say_starting(mut client: TcpStream) {
    let mut buffer = [0; 1024];
    let Ok(length) = client.read(&mut buffer) else { return };
    if length == 8 && client.write_all(b"N").is_ok() {
        let _ = client.read(&mut buffer);
    }
    let fields = b"SFATAL\0VFATAL\0C57P03\0Mthe database system is starting up\0\0";
    let length = u32::try_from(fields.len() + 4).expect("short").to_be_bytes();
    let _ = client.write_all(&[b"E", &length[..], fields].concat());
}
