//! The tables and columns of a SQLite database, read from the database itself. So the callers need no list of tables.

use crate::StoreError;
use crate::backend::Backend;
use crate::sql::Statement;

/// The column that only SQLite files have. No migration adds it; `checksums` does.
pub(crate) const CHECKSUM: &str = "checksum";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Column {
    pub name: String,
    pub kind: String,
    pub is_key: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Table {
    pub name: String,
    /// The columns without the checksum.
    pub columns: Vec<Column>,
    pub has_checksum: bool,
}

impl Table {
    pub(crate) fn columns(&self) -> Vec<&str> {
        self.columns.iter().map(|column| column.name.as_str()).collect()
    }

    pub(crate) fn key(&self) -> Vec<&str> {
        self.columns.iter().filter(|column| column.is_key).map(|column| column.name.as_str()).collect()
    }
}

pub(crate) async fn tables(backend: &dyn Backend) -> Result<Vec<Table>, StoreError> {
    let query = "SELECT m.name, p.name, p.type, p.pk FROM sqlite_master m JOIN pragma_table_info(m.name) p \
        WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' ORDER BY m.name, p.cid";
    let mut tables: Vec<Table> = Vec::new();
    for row in backend.read(Statement::new(query, vec![])).await? {
        let name = row.text(0)?;
        if tables.last().is_none_or(|table| table.name != name) {
            tables.push(Table { name: name.to_owned(), columns: Vec::new(), has_checksum: false });
        }
        let Some(table) = tables.last_mut() else { continue };
        let column = Column { name: row.text(1)?.to_owned(), kind: row.text(2)?.to_owned(), is_key: row.int(3)? > 0 };
        match column.name == CHECKSUM {
            true => table.has_checksum = true,
            false => table.columns.push(column),
        }
    }
    Ok(tables)
}
