"""Receives webhooks, and prints the events of those that are genuine.

WEBHOOK_SECRET=whsec_… PORT=3000 python examples/webhooks.py
"""

import os
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Set

from causeway import WebhookError, verify_webhook

# One, or several, separated by spaces, for the time while it is replaced.
secrets = os.environ["WEBHOOK_SECRET"].split(" ")
seen: Set[str] = set()  # a shop keeps the ids of events in its database, with what they changed


class Hook(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(min(int(self.headers.get("Content-Length", 0)), 1 << 20))
        try:
            event = verify_webhook(body, dict(self.headers), secrets)
        except WebhookError:
            self.send_response(400)
            self.end_headers()
            return
        if event["id"] not in seen:
            seen.add(event["id"])  # the same event may arrive again
            if event["type"] == "payment.settled":
                payment = event["data"]["payment"]
                paid = payment.get("payoutAmount", payment["fiatAmount"])
                print(f"{event['type']} {payment['reference']}: {paid:f} {payment['fiatCurrency']}", flush=True)
            else:
                print(event["type"], flush=True)
        self.send_response(204)
        self.end_headers()


server = HTTPServer(("127.0.0.1", int(os.environ.get("PORT", "3000"))), Hook)
print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
