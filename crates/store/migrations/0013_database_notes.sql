-- What a database says about itself: which rows carry checksums, and that a copy into it has not finished.
CREATE TABLE database_notes (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
);
