// Joins topics with the published client; prints how each join ended and every broadcast, one JSON value per line.
const { RealtimeClient } = require("@supabase/realtime-js");
const WebSocket = require("ws");
const [url, apikey, accessToken, vsn, ...topics] = process.argv.slice(2);
const say = (value) => console.log(JSON.stringify(value));
(async () => {
  const client = new RealtimeClient(url, { params: { apikey }, vsn, transport: WebSocket });
  if (accessToken) await client.setAuth(accessToken);
  for (const topic of topics) {
    client
      .channel(topic, { config: { private: true } })
      .on("broadcast", { event: "tree-event" }, (message) => say({ topic, event: message.event, payload: message.payload }))
      .subscribe((status, error) => say({ topic, status, error: error && String(error) }));
  }
  process.stdin.on("data", async (data) => {
    const [word, value] = String(data).trim().split(" ");
    if (word === "auth") await client.setAuth(value);
  });
  process.stdin.on("end", () => process.exit(0));
})();
