//! Single flipped bits all over a database file.

use crate::home::Home;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};
use std::collections::BTreeMap;
use std::path::Path;
use store::Depth;

const FLIPS: usize = 200;

/// Lease and retry columns: not data, and overwritten by the next holder.
const PASSING: [&str; 9] =
    ["due", "created_at", "lease_owner", "lease_until", "epoch", "attempts", "last_seen", "prior_seen", "unit"];

/// Everything that can be read of every table, or why it cannot.
fn dump(path: &Path) -> BTreeMap<String, String> {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY);
    let Ok(connection) = connection else { return BTreeMap::new() };
    let names = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";
    let names: Vec<String> = match connection.prepare(names) {
        Ok(mut statement) => {
            statement.query_map([], |row| row.get(0)).map_or_else(|_| Vec::new(), |rows| rows.flatten().collect())
        }
        Err(_) => Vec::new(),
    };
    names
        .into_iter()
        .map(|name| {
            let text = table(&connection, &name);
            (name, text)
        })
        .collect()
}

fn table(connection: &Connection, name: &str) -> String {
    let read = || -> rusqlite::Result<Vec<String>> {
        let mut statement = connection.prepare(&format!("SELECT * FROM {name} NOT INDEXED"))?;
        let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
        let mut rows = statement.query([])?;
        let mut lines = Vec::new();
        while let Some(row) = rows.next()? {
            let mut line = String::new();
            for (index, column) in columns.iter().enumerate() {
                let passing = name == "jobs" && PASSING.contains(&column.as_str());
                // When a migration was applied is for people to read.
                if passing || column == "applied_at" {
                    continue;
                }
                let value = match row.get_ref(index)? {
                    ValueRef::Text(text) => format!("{text:?}"),
                    other => format!("{other:?}"),
                };
                line.push_str(&format!("{value}|"));
            }
            lines.push(line);
        }
        lines.sort();
        Ok(lines)
    };
    read().map_or_else(|error| format!("unreadable: {error}"), |lines| lines.join("\n"))
}

/// Whether the data checks of `doctor` report damage.
fn is_noticed(home: &Home, path: &Path) -> bool {
    home.runtime.block_on(async {
        match store::open_read_only(path).await {
            Err(_) => true,
            Ok(None) => true,
            Ok(Some(store)) => store.examine(Depth::Full).await.map_or(true, |found| !found.damage.is_empty()),
        }
    })
}

#[test]
fn r4_a_flipped_bit_is_noticed_wherever_it_changes_stored_data() {
    let home = Home::bare();
    home.run("Rot", &["--success", "It exists"]).exits(0);
    home.tree("Branches", &["--max-depth", "1"]);
    home.pleach(&["actor", "create", "ann"]).exits(0);
    home.pleach(&["token", "create", "ann"]).exits(0);
    let whole = std::fs::read(home.data().join("pleach.db")).expect("the file");
    let folder = home.folder.path().join("flipped");
    std::fs::create_dir(&folder).expect("a folder");
    let path = folder.join("pleach.db");
    std::fs::write(&path, &whole).expect("written");
    assert!(!is_noticed(&home, &path), "the file is well to begin with");
    let original = dump(&path);

    let (mut changed, mut missed) = (0, Vec::new());
    for number in 0..FLIPS {
        let at = (whole.len() / FLIPS) * number + (number * 977) % (whole.len() / FLIPS);
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (number % 8);
        std::fs::write(&path, &bytes).expect("written");
        let now = dump(&path);
        if now == original {
            continue;
        }
        changed += 1;
        if !is_noticed(&home, &path) {
            let tables: Vec<&String> = original.keys().filter(|name| original.get(*name) != now.get(*name)).collect();
            missed.push(format!("byte {at} bit {}: {tables:?}", number % 8));
        }
    }
    assert!(changed > FLIPS / 4, "{changed} flips changed something");
    assert!(missed.is_empty(), "{} of {changed} went unnoticed:\n{}", missed.len(), missed.join("\n"));
}
