//! Finds the password when the URL has none: first in the file that `PLEACH_DATABASE_PASSWORD_FILE` names, then in
//! `PGPASSWORD`, then in the password file of libpq. A password must not get into an error.

use super::settings::Variables;
use crate::StoreError;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tokio_postgres::Config;
use tokio_postgres::config::Host;

const OWN_FILE: &str = "PLEACH_DATABASE_PASSWORD_FILE";

pub(crate) fn find(config: &Config, variables: &Variables) -> Result<Option<String>, StoreError> {
    let set = |name: &str| variables.get(name).filter(|value| !value.is_empty());
    if let Some(path) = set(OWN_FILE) {
        let text = std::fs::read_to_string(path)
            .map_err(|error| StoreError::Unusable(format!("{path} ({OWN_FILE}) cannot be read: {error}")))?;
        return Ok(Some(text.trim_end_matches(['\r', '\n']).to_owned()));
    }
    if let Some(password) = set("PGPASSWORD") {
        return Ok(Some(password.clone()));
    }
    let usual = || set("HOME").map(|home| Path::new(home).join(".pgpass"));
    let Some(path) = set("PGPASSFILE").map(PathBuf::from).or_else(usual) else { return Ok(None) };
    in_password_file(&path, &Wanted::of(config, variables))
}

/// The connection that needs a password.
struct Wanted {
    host: String,
    port: String,
    database: String,
    user: String,
}

impl Wanted {
    fn of(config: &Config, variables: &Variables) -> Wanted {
        let host = match config.get_hosts().first() {
            Some(Host::Tcp(name)) => name.clone(),
            _ => "localhost".into(),
        };
        let login = || variables.get("USER").or_else(|| variables.get("LOGNAME")).cloned().unwrap_or_default();
        let user = config.get_user().map_or_else(login, str::to_owned);
        let database = config.get_dbname().map_or_else(|| user.clone(), str::to_owned);
        let port = config.get_ports().first().copied().unwrap_or(5432).to_string();
        Wanted { host, port, database, user }
    }

    fn fits(&self, fields: &[String]) -> bool {
        let wanted = [&self.host, &self.port, &self.database, &self.user];
        fields.len() == 5 && wanted.into_iter().zip(fields).all(|(wanted, field)| field == "*" || field == wanted)
    }
}

fn in_password_file(path: &Path, wanted: &Wanted) -> Result<Option<String>, StoreError> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return Err(StoreError::Unusable(format!("the password file {} cannot be read: {error}", path.display())));
        }
    };
    let lines = text.lines().filter(|line| !line.starts_with('#')).map(fields);
    let Some(mut found) = lines.into_iter().find(|fields| wanted.fits(fields)) else { return Ok(None) };
    // Only a file that would be used is refused for its mode.
    let mode = std::fs::metadata(path).map_or(0, |found| found.permissions().mode() & 0o777);
    if mode & 0o077 != 0 {
        return Err(StoreError::Unusable(format!(
            "the password file {} has mode {mode:o}, so other users may read it; it was not used. Run `chmod 600 {}`",
            path.display(),
            path.display()
        )));
    }
    Ok(found.pop())
}

/// Splits `host:port:database:user:password`. A backslash makes the next character a plain one.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        let taken = match character {
            '\\' => characters.next(),
            ':' if fields.len() < 5 => {
                fields.push(String::new());
                None
            }
            other => Some(other),
        };
        fields.last_mut().expect("never empty").extend(taken);
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::str::FromStr;

    fn found(line: &str, mode: u32) -> Result<Option<String>, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pgpass");
        std::fs::write(&path, format!("# comment\nother:5432:d:u:no\n{line}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        let variables = Variables::from([("PGPASSFILE".to_owned(), path.display().to_string())]);
        find(&Config::from_str("postgres://u@db.example/d").unwrap(), &variables).map_err(|error| error.to_string())
    }

    #[test]
    fn w1_the_password_file_is_read_as_libpq_reads_it() {
        assert_eq!(found("db.example:*:d:u:s\\:e\\\\cret:x", 0o600), Ok(Some("s:e\\cret:x".into())));
        assert_eq!(found("*:5432:*:*:any", 0o600), Ok(Some("any".into())));
        assert_eq!(found("db.example:5433:d:u:no", 0o600), Ok(None));
    }

    #[test]
    fn w1_a_password_file_that_others_may_read_is_refused_without_showing_it() {
        let refused = found("db.example:*:d:u:hidden", 0o644).unwrap_err();
        assert!(refused.contains("chmod 600") && !refused.contains("hidden"), "{refused}");
    }

    #[test]
    fn w1_a_file_named_for_this_program_comes_before_the_variable() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        std::fs::write(&path, "from-file\n").unwrap();
        let mut variables = Variables::from([("PGPASSWORD".to_owned(), "from-variable".to_owned())]);
        let config = Config::from_str("postgres://u@h/d").unwrap();
        assert_eq!(find(&config, &variables).unwrap().as_deref(), Some("from-variable"));
        variables.insert(OWN_FILE.into(), path.display().to_string());
        assert_eq!(find(&config, &variables).unwrap().as_deref(), Some("from-file"));
    }
}
