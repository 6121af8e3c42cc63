//! Limits the size and depth of messages from an MCP server. A message over a limit is replaced by an error with the same id, so
//! that its call fails with a reason instead of a timeout, and the connection stays usable.

use engine::json::MAX_DEPTH;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};

/// The largest message in bytes.
pub const MAX_MESSAGE_BYTES: usize = 16_000_000;
/// The buffer between the server's output and the MCP library.
const BUFFER_BYTES: usize = 64 * 1024;
/// Ids are numbers or short texts.
const MAX_ID_BYTES: usize = 256;
const SERVER_ERROR_CODE: i64 = -32_000;

/// Why a message was refused.
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
                "the result is too large: it has at least {bytes} bytes, and {MAX_MESSAGE_BYTES} is the most; ask for less at once"
            ),
            MessageError::TooDeep => {
                write!(f, "the result is nested deeper than {MAX_DEPTH} levels; ask for a flatter one")
            }
        }
    }
}

/// The message that replaces a refused one.
pub fn error(id: &Value, why: MessageError) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": SERVER_ERROR_CODE, "message": why.to_string()}})
}

/// The id, size and depth of a message, read from its bytes without storing them.
#[derive(Debug, Default)]
pub struct MessageScanner {
    bytes: usize,
    depth: usize,
    deepest: usize,
    in_string: bool,
    escaped: bool,
    /// The current name or value at the top level.
    token: Vec<u8>,
    /// The name of the current field.
    name: Vec<u8>,
    id: Option<Value>,
    is_request: bool,
}

impl MessageScanner {
    pub fn scan(&mut self, bytes: &[u8]) {
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
            return self.push_token(byte);
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
                self.name = std::mem::take(&mut self.token);
                return;
            }
            b',' if self.depth == 1 => return self.end_field(),
            byte if byte.is_ascii_whitespace() => return,
            _ => {}
        }
        self.push_token(byte);
    }

    fn push_token(&mut self, byte: u8) {
        if self.depth == 1 && self.token.len() < MAX_ID_BYTES {
            self.token.push(byte);
        }
    }

    fn end_field(&mut self) {
        let (name, token) = (std::mem::take(&mut self.name), std::mem::take(&mut self.token));
        match name.as_slice() {
            b"\"id\"" => self.id = serde_json::from_slice(&token).ok().filter(|id: &Value| !id.is_null()),
            b"\"method\"" => self.is_request = true,
            _ => {}
        }
    }

    /// The limit that the message exceeds, if any.
    pub fn error(&self) -> Option<MessageError> {
        match self {
            _ if self.bytes > MAX_MESSAGE_BYTES => Some(MessageError::TooLarge(self.bytes)),
            _ if self.deepest > MAX_DEPTH => Some(MessageError::TooDeep),
            _ => None,
        }
    }

    /// The id of the call that the message answers.
    pub fn answered_id(&self) -> Option<&Value> {
        self.id.as_ref().filter(|_| !self.is_request)
    }
}

/// A server's output with messages over the limits replaced.
pub fn bounded(output: impl AsyncRead + Send + Unpin + 'static) -> impl AsyncRead + Send + Unpin + 'static {
    let (to, from) = tokio::io::duplex(BUFFER_BYTES);
    // Ends when the process exits or the reader is dropped.
    tokio::spawn(async move { pump(output, to).await });
    from
}

async fn pump(output: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin) -> std::io::Result<()> {
    let mut output = BufReader::with_capacity(BUFFER_BYTES, output);
    let (mut scanner, mut line) = (MessageScanner::default(), Vec::new());
    while let Some((part, ended)) = part_of_line(&mut output).await? {
        scanner.scan(&part);
        match scanner.error() {
            None => line.extend_from_slice(&part),
            Some(_) => line = Vec::new(),
        }
        if ended {
            let scanner = std::mem::take(&mut scanner);
            let mut line = std::mem::take(&mut line);
            if let Some(why) = scanner.error() {
                line = scanner.answered_id().map(|id| error(id, why).to_string().into_bytes()).unwrap_or_default();
                tracing::warn!(%why, answered = scanner.answered_id().is_some(), "refused a message of an MCP server");
            }
            line.push(b'\n');
            to.write_all(&line).await?;
        }
    }
    Ok(())
}

/// The next bytes of a line, and whether the line ends with them. `None` at the end of the output.
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

    fn scanner(text: &str) -> MessageScanner {
        let mut scanner = MessageScanner::default();
        text.as_bytes().chunks(3).for_each(|part| scanner.scan(part));
        scanner
    }

    #[test]
    fn r8_the_id_of_an_answer_is_found_wherever_it_is() {
        for (text, id) in [
            (r#"{"jsonrpc":"2.0","id":7,"result":{"id":8}}"#, Some(json!(7))),
            (r#"{"result":{"id":8,"x":[{"id":9}]}, "id" : "a\"b" }"#, Some(json!("a\"b"))),
            (r#"{"id":7,"method":"ping"}"#, None),
            (r#"{"id":null,"error":{}}"#, None),
            (r#"[{"id":7}]"#, None),
            ("", None),
            ("}}]]::,,", None),
        ] {
            assert_eq!(scanner(text).answered_id(), id.as_ref(), "{text}");
        }
    }

    #[tokio::test]
    async fn r8_a_message_over_a_limit_is_replaced_by_an_error_and_others_pass() {
        // Given an output with a message that is too large, one that is too deep, and good ones between
        let large = format!("{{\"result\":\"{}\",\"id\":1}}", "x".repeat(MAX_MESSAGE_BYTES));
        let deep = format!("{{\"id\":2,\"result\":{}{}}}", "[".repeat(200), "]".repeat(200));
        let good = r#"{"jsonrpc":"2.0","id":3,"result":{}}"#;
        let output = format!("noise\n{large}\n{good}\n{deep}\n{good}\n");
        // When it is read through the limits
        let mut read = String::new();
        bounded(std::io::Cursor::new(output)).read_to_string(&mut read).await.unwrap();
        // Then each call has an answer, and every other message arrives
        let lines: Vec<&str> = read.lines().collect();
        assert_eq!((lines.len(), lines[0], lines[2], lines[4]), (5, "noise", good, good));
        let refused = |line: &str| serde_json::from_str::<Value>(line).unwrap();
        let (large, deep) = (refused(lines[1]), refused(lines[3]));
        assert_eq!((&large["id"], &deep["id"]), (&json!(1), &json!(2)));
        assert!(large["error"]["message"].as_str().unwrap().contains("16000000 is the most"), "{large}");
        assert!(deep["error"]["message"].as_str().unwrap().contains("deeper than 64"), "{deep}");
    }
}
