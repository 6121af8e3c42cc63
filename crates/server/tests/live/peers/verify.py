# Verifies a delivery, given as JSON on stdin, with the PyPI package.
import json, sys
from standardwebhooks.webhooks import Webhook
given = json.load(sys.stdin)
print(json.dumps(Webhook(given["secret"]).verify(given["body"], given["headers"])))
