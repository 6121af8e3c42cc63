//! Checks the write-ahead log of a SQLite file. SQLite stops reading the log at the first frame with a wrong checksum.
//! That is right after a crash in the middle of a write. After a flipped bit it silently drops every later commit, so
//! this module looks for a commit behind a bad frame. It must not know SQL; it reads the file format.

use std::path::Path;

const HEADER: usize = 32;
const FRAME: usize = 24;

/// The damage, if there is any. No process may write to the log.
pub(crate) fn damage(log: &Path) -> Option<String> {
    let bytes = std::fs::read(log).ok()?;
    if bytes.is_empty() {
        return None;
    }
    let unreadable = || format!("the header of the write-ahead log {} is damaged", log.display());
    let Some((header, frames)) = bytes.split_at_checked(HEADER) else { return Some(unreadable()) };
    let order = match word(header, 0, Order::Big) {
        0x377f_0682 => Order::Little,
        0x377f_0683 => Order::Big,
        _ => return Some(unreadable()),
    };
    let mut sum = checksum((0, 0), &header[..24], order);
    if sum != (word(header, 24, Order::Big), word(header, 28, Order::Big)) {
        return Some(unreadable());
    }
    let salt = &header[16..24];
    let size = FRAME + word(header, 8, Order::Big) as usize;
    let mut bad = None;
    for (index, frame) in frames.chunks_exact(size).enumerate() {
        if frame[8..16] != *salt {
            // A frame with another salt is left over from before the log was reset. Nothing after it should be valid.
            if bad.is_none() {
                bad = Some(index);
            }
            continue;
        }
        if let Some(first) = bad {
            let commits = word(frame, 4, Order::Big) != 0;
            if commits {
                return Some(format!(
                    "frame {first} of the write-ahead log {} is damaged; the commits after it are not read",
                    log.display()
                ));
            }
            continue;
        }
        sum = checksum(checksum(sum, &frame[..8], order), &frame[FRAME..], order);
        if sum != (word(frame, 16, Order::Big), word(frame, 20, Order::Big)) {
            bad = Some(index);
        }
    }
    None
}

#[derive(Clone, Copy)]
enum Order {
    Big,
    Little,
}

fn word(bytes: &[u8], at: usize, order: Order) -> u32 {
    let Some(four) = bytes.get(at..at + 4).and_then(|four| four.try_into().ok()) else { return 0 };
    match order {
        Order::Big => u32::from_be_bytes(four),
        Order::Little => u32::from_le_bytes(four),
    }
}

fn checksum(start: (u32, u32), bytes: &[u8], order: Order) -> (u32, u32) {
    bytes.chunks_exact(8).fold(start, |(first, second), eight| {
        let first = first.wrapping_add(word(eight, 0, order)).wrapping_add(second);
        (first, second.wrapping_add(word(eight, 4, order)).wrapping_add(first))
    })
}
