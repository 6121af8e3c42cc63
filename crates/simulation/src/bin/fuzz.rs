//! Fuzzes the parsers of untrusted bytes: `fuzz [TARGET]… [--inputs N] [--seed N]`. It prints one line per target. An
//! input that fails is stored in the temporary directory, and its number with the seed makes it again.

use simulation::fuzz::{fuzz, line, targets};
use std::process::ExitCode;

const USAGE: &str = "usage: fuzz [TARGET]... [--inputs N] [--seed N]";

fn main() -> ExitCode {
    let (mut inputs, mut seed, mut named) = (1_000_000, 1, Vec::new());
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let number = |text: Option<String>| text.and_then(|text| text.parse::<u64>().ok());
        match word.as_str() {
            "--inputs" | "--seed" => match (word.as_str(), number(words.next())) {
                ("--inputs", Some(number)) => inputs = number,
                ("--seed", Some(number)) => seed = number,
                _ => return usage(&format!("{word} needs a number")),
            },
            _ => named.push(word),
        }
    }
    let all = targets::all();
    if let Some(unknown) = named.iter().find(|name| all.iter().all(|target| target.name != name.as_str())) {
        let known: Vec<&str> = all.iter().map(|target| target.name).collect();
        return usage(&format!("there is no target {unknown}; targets: {}", known.join(", ")));
    }
    let mut failed = false;
    for target in all.iter().filter(|target| named.is_empty() || named.iter().any(|name| name == target.name)) {
        match fuzz(target, inputs, seed) {
            Ok(figures) => println!("{}", line(target.name, &figures)),
            Err(failure) => {
                failed = true;
                let path = std::env::temp_dir().join(format!("fuzz-{}-{seed}-{}", target.name, failure.number));
                let kept = std::fs::write(&path, &failure.input);
                println!("{}: input {} of seed {seed}: {}", target.name, failure.number, failure.why);
                println!("  {} bytes, stored in {} ({kept:?})", failure.input.len(), path.display());
            }
        }
    }
    ExitCode::from(u8::from(failed))
}

fn usage(message: &str) -> ExitCode {
    eprintln!("{message}\n{USAGE}");
    ExitCode::from(2)
}
