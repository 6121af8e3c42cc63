// Server-sent events over fetch. EventSource hides why a request was refused and does not let the reader choose where to resume.

export interface Message {
  event: string;
  id: string | null;
  data: string;
}

/** Turns pieces of text, cut anywhere, into whole messages. */
export function createParser(take: (message: Message) => void): (piece: string) => void {
  let rest = '';
  /** This many characters of the rest were searched and hold no line end. */
  let looked = 0;
  let event = 'message';
  let id: string | null = null;
  let data: string[] = [];

  const line = (text: string): void => {
    if (text === '') {
      if (data.length > 0) take({ event, id, data: data.join('\n') });
      event = 'message';
      id = null;
      data = [];
      return;
    }
    const colon = text.indexOf(':');
    if (colon === 0) return;
    const name = colon < 0 ? text : text.slice(0, colon);
    const value = colon < 0 ? '' : text.slice(colon + (text[colon + 1] === ' ' ? 2 : 1));
    if (name === 'data') data.push(value);
    else if (name === 'event') event = value;
    else if (name === 'id') id = value;
  };

  return (piece) => {
    rest += piece;
    let start = 0;
    for (let end = rest.indexOf('\n', looked); end >= 0; end = rest.indexOf('\n', start)) {
      line(rest.slice(start, rest[end - 1] === '\r' ? end - 1 : end));
      start = end + 1;
    }
    rest = rest.slice(start);
    looked = rest.length;
  };
}

/** Reads until the stream ends, which resolves, or breaks, which rejects. `beat` is called whenever a byte arrives. */
export async function readStream(response: Response, take: (message: Message) => void, beat: () => void): Promise<void> {
  const reader = response.body?.getReader();
  if (!reader) return;
  const decoder = new TextDecoder();
  const parse = createParser(take);
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    beat();
    parse(decoder.decode(value, { stream: true }));
  }
}
