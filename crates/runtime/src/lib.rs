//! The loop between the pure engine and the world: it owns its ports and knows no database, no provider, no protocol.

pub mod ports;
