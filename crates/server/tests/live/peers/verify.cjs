// Verifies a delivery, given as JSON on stdin, with the npm package.
const { Webhook } = require("standardwebhooks");
const { secret, headers, body } = JSON.parse(require("fs").readFileSync(0, "utf8"));
console.log(JSON.stringify(new Webhook(secret).verify(body, headers)));
