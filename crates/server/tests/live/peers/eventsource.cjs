// An EventSource as browsers have it: prints every event of a run until it completes, and how often it connected.
const { EventSource } = require("eventsource");
const [url, token] = process.argv.slice(2);
let connections = 0;
const source = new EventSource(url, {
  fetch: (input, init) => {
    connections += 1;
    return fetch(input, { ...init, headers: { ...init.headers, authorization: `Bearer ${token}` } });
  },
});
source.onmessage = (message) => {
  console.log(message.data);
  if (JSON.parse(message.data).type === "run.completed") {
    console.log(JSON.stringify({ connections, lastEventId: message.lastEventId }));
    source.close();
  }
};
