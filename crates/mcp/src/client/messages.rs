//! Limits the size and depth of messages from an MCP server. A message beyond them is replaced by an error under the same id, so
//! that its call ends with a reason instead of a timeout, and the connection stays usable.

use engine::json::MAX_DEPTH;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};

/// The most bytes of one message.
pub const MOST_BYTES: usize = 16_000_000;
/// The protocol's library never sees more than this at once.
const PIPE: usize = 64 * 1024;
/// Ids are numbers and short texts.
const LONGEST_WORD: usize = 256;
const CODE: i64 = -32_000;

/// Why a message was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageError {
    TooLarge(usize),
    TooDeep,
}

impl std::fmt::Display for MessageError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            MessageError::TooLarge(bytes) => write!(
                f,
                "the result is too large: {bytes} bytes or more were sent, {MOST_BYTES} is the most that is taken; ask for less at once"
            ),
            MessageError::TooDeep => {
                write!(f, "the result is nested deeper than {MAX_DEPTH} levels and cannot be read")
            }
        }
    }
}

/// What takes its place.
pub fn error(id: &Value, unfit: MessageError) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": CODE, "message": unfit.to_string()}})
}

/// What a message is about, told while its bytes pass by and without keeping them.
#[derive(Debug, Default)]
pub struct Outline {
    bytes: usize,
    depth: usize,
    deepest: usize,
    in_string: bool,
    escaped: bool,
    /// The word or value that stands at the top level now.
    word: Vec<u8>,
    /// The name it stands under.
    name: Vec<u8>,
    id: Option<Value>,
    is_request: bool,
}

impl Outline {
    pub fn take(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len();
        bytes.iter().for_each(|byte| self.byte(*byte));
    }

    fn byte(&mut self, byte: u8) {
        if self.in_string {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_string = false,
                _ => {}
            }
            return self.keep(byte);
        }
        match byte {
            b'"' => self.in_string = true,
            b'{' | b'[' => {
                self.depth += 1;
                self.deepest = self.deepest.max(self.depth);
                return;
            }
            b'}' | b']' => {
                if self.depth == 1 {
                    self.end_field();
                }
                self.depth = self.depth.saturating_sub(1);
                return;
            }
            b':' if self.depth == 1 => {
                self.name = std::mem::take(&mut self.word);
                return;
            }
            b',' if self.depth == 1 => return self.end_field(),
            byte if byte.is_ascii_whitespace() => return,
            _ => {}
        }
        self.keep(byte);
    }

    fn keep(&mut self, byte: u8) {
        if self.depth == 1 && self.word.len() < LONGEST_WORD {
            self.word.push(byte);
        }
    }

    fn end_field(&mut self) {
        let (name, word) = (std::mem::take(&mut self.name), std::mem::take(&mut self.word));
        match name.as_slice() {
            b"\"id\"" => self.id = serde_json::from_slice(&word).ok().filter(|id: &Value| !id.is_null()),
            b"\"method\"" => self.is_request = true,
            _ => {}
        }
    }

    pub fn unfit(&self) -> Option<MessageError> {
        match self {
            _ if self.bytes > MOST_BYTES => Some(MessageError::TooLarge(self.bytes)),
            _ if self.deepest > MAX_DEPTH => Some(MessageError::TooDeep),
            _ => None,
        }
    }

    /// The id of the call that the message answers.
    pub fn answers(&self) -> Option<&Value> {
        self.id.as_ref().filter(|_| !self.is_request)
    }
}

/// The lines of a server's output, each fit to be read whole.
pub fn bounded(output: impl AsyncRead + Send + Unpin + 'static) -> impl AsyncRead + Send + Unpin + 'static {
    let (to, from) = tokio::io::duplex(PIPE);
    // Ends with the process, or when nobody reads any more.
    tokio::spawn(async move { pump(output, to).await });
    from
}

async fn pump(output: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin) -> std::io::Result<()> {
    let mut output = BufReader::with_capacity(PIPE, output);
    let (mut outline, mut line) = (Outline::default(), Vec::new());
    while let Some((part, ended)) = part_of_line(&mut output).await? {
        outline.take(&part);
        match outline.unfit() {
            None => line.extend_from_slice(&part),
            Some(_) => line = Vec::new(),
        }
        if ended {
            let outline = std::mem::take(&mut outline);
            let mut line = std::mem::take(&mut line);
            if let Some(unfit) = outline.unfit() {
                line = outline.answers().map(|id| error(id, unfit).to_string().into_bytes()).unwrap_or_default();
                tracing::warn!(%unfit, answered = outline.answers().is_some(), "a message of an MCP server was not taken");
            }
            line.push(b'\n');
            to.write_all(&line).await?;
        }
    }
    Ok(())
}

/// The next bytes of a line as they came, and whether it ended with them; nothing at the end of the output.
pub async fn part_of_line<R: AsyncRead + Unpin>(from: &mut BufReader<R>) -> std::io::Result<Option<(Vec<u8>, bool)>> {
    let bytes = from.fill_buf().await?;
    if bytes.is_empty() {
        return Ok(None);
    }
    let end = bytes.iter().position(|byte| *byte == b'\n');
    let part = bytes[..end.unwrap_or(bytes.len())].to_vec();
    from.consume(part.len() + usize::from(end.is_some()));
    Ok(Some((part, end.is_some())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;

    fn outline(text: &str) -> Outline {
        let mut outline = Outline::default();
        text.as_bytes().chunks(3).for_each(|part| outline.take(part));
        outline
    }

    #[test]
    fn r8_whom_a_message_answers_is_told_wherever_its_id_stands() {
        for (text, id) in [
            (r#"{"jsonrpc":"2.0","id":7,"result":{"id":8}}"#, Some(json!(7))),
            (r#"{"result":{"id":8,"x":[{"id":9}]}, "id" : "a\"b" }"#, Some(json!("a\"b"))),
            (r#"{"id":7,"method":"ping"}"#, None),
            (r#"{"id":null,"error":{}}"#, None),
            (r#"[{"id":7}]"#, None),
            ("", None),
            ("}}]]::,,", None),
        ] {
            assert_eq!(outline(text).answers(), id.as_ref(), "{text}");
        }
    }

    #[tokio::test]
    async fn r8_what_is_too_large_or_too_deep_is_answered_and_the_rest_passes() {
        // Given an output with a message that is too large, one that is too deep, and good ones between
        let large = format!("{{\"result\":\"{}\",\"id\":1}}", "x".repeat(MOST_BYTES));
        let deep = format!("{{\"id\":2,\"result\":{}{}}}", "[".repeat(200), "]".repeat(200));
        let good = r#"{"jsonrpc":"2.0","id":3,"result":{}}"#;
        let said = format!("noise\n{large}\n{good}\n{deep}\n{good}\n");
        // When it is read through the bound
        let mut heard = String::new();
        bounded(std::io::Cursor::new(said)).read_to_string(&mut heard).await.unwrap();
        // Then each call has an answer, and nothing else is lost
        let lines: Vec<&str> = heard.lines().collect();
        assert_eq!((lines.len(), lines[0], lines[2], lines[4]), (5, "noise", good, good));
        let refused = |line: &str| serde_json::from_str::<Value>(line).unwrap();
        let (large, deep) = (refused(lines[1]), refused(lines[3]));
        assert_eq!((&large["id"], &deep["id"]), (&json!(1), &json!(2)));
        assert!(large["error"]["message"].as_str().unwrap().contains("16000000 is the most"), "{large}");
        assert!(deep["error"]["message"].as_str().unwrap().contains("deeper than 64"), "{deep}");
    }
}
