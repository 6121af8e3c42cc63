//! PostgreSQL over TLS: a server that lets nobody in without, with certificates of a root made for the test.

use crate::cluster::{Cluster, PASSWORD};
use crate::home::{Home, Said};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

struct Root {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Root {
    fn new() -> Root {
        let mut params = CertificateParams::new(Vec::new()).expect("parameters");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let pem = params.self_signed(&key).expect("a certificate").pem();
        Root { pem, issuer: Issuer::new(params, key) }
    }

    /// A certificate for this name, and its key.
    fn sign(&self, name: &str) -> (String, String) {
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new(vec![name.to_owned()]).expect("parameters");
        (params.signed_by(&key, &self.issuer).expect("a certificate").pem(), key.serialize_pem())
    }
}

struct Secured {
    cluster: Cluster,
    home: Home,
}

impl Secured {
    fn start() -> Secured {
        let (root, other) = (Root::new(), Root::new());
        let (certificate, key) = root.sign("localhost");
        let access = "hostssl all all 127.0.0.1/32 scram-sha-256\nhostssl all all ::1/128 scram-sha-256\n";
        let cluster = Cluster::start(access, &["ssl=on"], &[("server.crt", &certificate), ("server.key", &key)]);
        let home = Home::bare();
        std::fs::write(home.folder.path().join("root.pem"), &root.pem).expect("written");
        std::fs::write(home.folder.path().join("other.pem"), &other.pem).expect("written");
        Secured { cluster, home }
    }

    fn pem(&self, name: &str) -> String {
        self.home.folder.path().join(name).display().to_string()
    }

    /// `pleach ls` with this URL and these variables.
    fn ls(&self, host: &str, more: &str, variables: &[(&str, &str)]) -> Said {
        let url = self.cluster.url(host, more);
        let mut command = self.home.command(&["ls"]);
        command.env("PLEACH_DATABASE_URL", url).envs(variables.iter().copied());
        let said = crate::home::said(command.output().expect("the binary runs"));
        assert!(!said.err.contains(PASSWORD) && !said.out.contains(PASSWORD), "{said:?}");
        said
    }
}

const WITH_PASSWORD: (&str, &str) = ("PGPASSWORD", PASSWORD);

#[test]
fn w1_a_server_that_wants_tls_is_reached_and_one_that_is_not_who_it_should_be_is_refused() {
    let secured = Secured::start();
    let (root, other) = (secured.pem("root.pem"), secured.pem("other.pem"));

    // Given nothing but the address, TLS is used because the server offers it.
    secured.ls("localhost", "", &[WITH_PASSWORD]).exits(0);
    secured.ls("localhost", "?sslmode=require", &[WITH_PASSWORD]).exits(0);
    let plain = secured.ls("localhost", "?sslmode=disable", &[WITH_PASSWORD]).exits(2);
    assert!(plain.err.contains("no encryption"), "{plain:?}");

    // When the certificate is checked, the right root and name are let through.
    let full = format!("?sslmode=verify-full&sslrootcert={root}");
    secured.ls("localhost", &format!("{full}&channel_binding=require"), &[WITH_PASSWORD]).exits(0);
    secured.ls("localhost", "", &[WITH_PASSWORD, ("PGSSLMODE", "verify-full"), ("PGSSLROOTCERT", &root)]).exits(0);

    // Then a wrong root and a wrong name are refused, each in its own words.
    for mode in ["verify-ca", "verify-full", "require"] {
        let stranger = format!("?sslmode={mode}&sslrootcert={other}");
        let refused = secured.ls("localhost", &stranger, &[WITH_PASSWORD]).exits(2);
        assert!(refused.err.contains("not signed by a trusted root"), "{mode}: {refused:?}");
    }
    let system = secured.ls("localhost", "?sslmode=verify-full", &[WITH_PASSWORD]).exits(2);
    assert!(system.err.contains("root"), "{system:?}");
    let misnamed = secured.ls("127.0.0.1", &full, &[WITH_PASSWORD]).exits(2);
    assert!(misnamed.err.contains("localhost") && misnamed.err.contains("not for 127.0.0.1"), "{misnamed:?}");
    secured.ls("127.0.0.1", &format!("?sslmode=verify-ca&sslrootcert={root}"), &[WITH_PASSWORD]).exits(0);
}

#[test]
fn w1_passwords_come_from_the_usual_places_and_a_run_is_driven_over_tls() {
    let secured = Secured::start();
    let home = secured.home.folder.path();

    let missing = secured.ls("localhost", "?sslmode=require", &[]).exits(2);
    assert!(missing.err.contains("password"), "{missing:?}");
    let wrong = secured.ls("localhost", "?sslmode=require", &[("PGPASSWORD", "guessed")]).exits(2);
    assert!(wrong.err.contains("password authentication failed") && !wrong.err.contains("guessed"), "{wrong:?}");

    let file = home.join("secret");
    std::fs::write(&file, format!("{PASSWORD}\n")).expect("written");
    let own = ("PLEACH_DATABASE_PASSWORD_FILE", file.to_str().expect("text"));
    secured.ls("localhost", "", &[own]).exits(0);

    let passwords = home.join(".pgpass");
    std::fs::write(&passwords, format!("localhost:{}:*:pleach:{PASSWORD}\n", secured.cluster.port)).expect("written");
    std::fs::set_permissions(&passwords, std::fs::Permissions::from_mode(0o644)).expect("its mode");
    let open = secured.ls("localhost", "", &[]).exits(2);
    assert!(open.err.contains("chmod 600"), "{open:?}");
    std::fs::set_permissions(&passwords, std::fs::Permissions::from_mode(0o600)).expect("its mode");
    secured.ls("localhost", "", &[]).exits(0);

    // A whole run, with a listener beside it, and every connection of it encrypted.
    let url =
        secured.cluster.url("localhost", &format!("?sslmode=verify-full&sslrootcert={}", secured.pem("root.pem")));
    let run = |words: &[&str]| {
        let mut command = secured.home.command(words);
        command.env("PLEACH_DATABASE_URL", &url).env("PLEACH_DATABASE_DIRECT_URL", &url);
        command
    };
    let mut worker = run(&["worker"]).spawn().expect("a worker");
    secured.home.until("the worker listens", || {
        let listening = "SELECT count(*) FROM pg_stat_activity WHERE query = 'LISTEN pleach'";
        (psql(&secured, listening) == "1").then_some(())
    });
    let unencrypted = "SELECT count(*) FROM pg_stat_ssl s JOIN pg_stat_activity a USING (pid) WHERE NOT s.ssl AND a.client_addr IS NOT NULL";
    assert_eq!(psql(&secured, unencrypted), "0");
    let said = crate::home::said(
        run(&["run", "Over TLS", "--kind", "homework", "--wait", "--json"]).output().expect("it runs"),
    );
    assert_eq!(said.exits(0).run()["status"], "completed");
    worker.kill().expect("killed");
    worker.wait().expect("reaped");
}

fn psql(secured: &Secured, sql: &str) -> String {
    let said = Command::new("psql")
        .args([&secured.cluster.url("localhost", "?sslmode=require"), "-Atc", sql])
        .env("PGPASSWORD", PASSWORD)
        .output()
        .expect("psql runs");
    String::from_utf8_lossy(&said.stdout).trim().to_owned()
}
