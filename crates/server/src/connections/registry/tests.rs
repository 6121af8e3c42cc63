//! Which connections are closed for which others.

use super::*;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;

struct Listener {
    registry: Registry,
    listener: TcpListener,
}

/// Both ends of a connection, and its entry in the registry.
struct Pair {
    client: TcpStream,
    _server: Arc<TcpStream>,
    connection: Option<Connection>,
}

impl Listener {
    async fn with(limits: Limits) -> Listener {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Listener { registry: Registry::new(limits), listener }
    }

    async fn connect(&self, from: &str) -> Pair {
        let client = TcpStream::connect(self.listener.local_addr().unwrap()).await.unwrap();
        let server = Arc::new(self.listener.accept().await.unwrap().0);
        let connection = self.registry.admit(&server, from.parse().unwrap());
        // Ages are compared in milliseconds.
        tokio::time::sleep(Duration::from_millis(2)).await;
        Pair { client, _server: server, connection }
    }
}

impl Pair {
    fn entry(&self) -> &Connection {
        self.connection.as_ref().expect("it was accepted")
    }

    async fn is_closed(&mut self) -> bool {
        let mut one = [0; 1];
        let read = self.client.read(&mut one);
        matches!(tokio::time::timeout(Duration::from_millis(100), read).await, Ok(Ok(0) | Err(_)))
    }
}

const LIMITS: Limits = Limits { total: 4, anonymous_per_network: 3, websockets: 2, websockets_per_network: 1 };

#[test]
fn x6_some_descriptors_are_reserved() {
    for limit in [256, 1_024, 4_096, 65_536, 1 << 20] {
        let limits = Limits::for_descriptors(limit);
        assert!(
            limits.total + 64 <= limit && limits.total >= limit / 2 || limits.total == MAX_CONNECTIONS,
            "{limit}: {limits:?}"
        );
        assert!(limits.anonymous_per_network < limits.total && limits.websockets_per_network <= 32, "{limits:?}");
    }
    assert_eq!(Limits::for_descriptors(1_024).total, 768);
}

#[tokio::test]
async fn x6_the_oldest_idle_anonymous_connection_is_closed_and_a_served_one_is_not() {
    let here = Listener::with(LIMITS).await;
    let mut served = here.connect("192.0.2.1").await;
    served.entry().authenticate();
    let _answering = served.entry().answering();
    let mut known = here.connect("192.0.2.1").await;
    known.entry().authenticate();
    let mut asked = here.connect("192.0.2.2").await;
    let _asking = asked.entry().answering();
    let mut idle = here.connect("192.0.2.3").await;

    let mut fifth = here.connect("192.0.2.4").await;
    assert!(idle.is_closed().await && !fifth.is_closed().await);
    let _fifth_asks = fifth.entry().answering();
    let mut sixth = here.connect("192.0.2.4").await;
    assert!(known.is_closed().await, "an idle authenticated connection is next");
    let _sixth_asks = sixth.entry().answering();
    let mut seventh = here.connect("192.0.2.5").await;
    assert!(asked.is_closed().await, "then an anonymous request");
    for pair in [&fifth, &sixth, &seventh] {
        pair.entry().authenticate();
    }
    let _seventh_asks = seventh.entry().answering();
    assert!(here.connect("192.0.2.6").await.connection.is_none(), "all four are busy and authenticated");
    assert!(!served.is_closed().await && !sixth.is_closed().await && !seventh.is_closed().await);
}

#[tokio::test]
async fn x6_one_network_has_a_limit_of_anonymous_connections_and_does_not_displace_others() {
    let here = Listener::with(Limits { total: 100, ..LIMITS }).await;
    let mut other = here.connect("192.0.2.9").await;
    let mut theirs = Vec::new();
    for host in 1..=5 {
        theirs.push(here.connect(&format!("2001:db8::{host}")).await);
    }
    let mut closed = Vec::new();
    for pair in &mut theirs {
        closed.push(pair.is_closed().await);
    }
    assert_eq!(closed, [true, true, false, false, false]);
    assert!(!other.is_closed().await);
}

#[tokio::test]
async fn x6_the_oldest_unauthenticated_websocket_is_closed() {
    let here = Listener::with(Limits { total: 100, ..LIMITS }).await;
    let mut known = here.connect("192.0.2.1").await;
    known.entry().authenticate();
    known.entry().upgrade();
    let mut pairs = Vec::new();
    for from in ["192.0.2.1", "192.0.2.1", "192.0.2.2", "192.0.2.3"] {
        let pair = here.connect(from).await;
        pair.entry().upgrade();
        pairs.push(pair);
    }
    let mut closed = Vec::new();
    for pair in &mut pairs {
        closed.push(pair.is_closed().await);
    }
    assert_eq!(closed, [true, true, false, false], "one per network, two in all");
    assert!(!known.is_closed().await);
}

#[tokio::test]
async fn x6_a_connection_that_ended_is_removed() {
    let here = Listener::with(LIMITS).await;
    for _ in 0..20 {
        drop(here.connect("192.0.2.1").await);
    }
    let counted = {
        let open = here.registry.0.open();
        (open.entries.len(), open.by_network.len())
    };
    assert_eq!(counted, (0, 0));
    assert!(!here.registry.close_one());
}
