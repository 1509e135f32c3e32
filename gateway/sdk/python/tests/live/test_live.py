"""The client and its examples against a running product.

CAUSEWAY_URL, and a test key of a merchant of its own in CAUSEWAY_API_KEY and CAUSEWAY_PUBLIC_KEY. `make test/long` runs it.
"""

import os
import subprocess
import sys
import threading
import time
import unittest
import urllib.error
import urllib.request
import uuid
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from causeway import ApiError, Causeway, WebhookError, verify_webhook

URL, KEY, PUBLIC = (os.environ[name] for name in ("CAUSEWAY_URL", "CAUSEWAY_API_KEY", "CAUSEWAY_PUBLIC_KEY"))
PLAIN = Causeway(base_url=URL, api_key=KEY, mode="test")
SIGNED = Causeway(base_url=URL, api_key=KEY, public_key=PUBLIC, mode="test")
CLIENTS = {"plain": PLAIN, "signed": SIGNED}
EXAMPLES = Path(__file__).parent / "../../examples"


def transfer(**more):
    return {
        "type": "transfer", "fiatAmount": Decimal("1234567.89"), "fiatCurrency": "NGN", "crypto": "USDT", "network": "tron",
        "chargeFrom": "crypto", "payer": {"chatId": "42"}, "receiver": {"bankCode": "058", "accountNumber": "0123456789"}, **more,
    }


def eventually(what, holds):
    end = time.monotonic() + 60
    while time.monotonic() < end:
        got = holds()
        if got:
            return got
        time.sleep(0.1)
    raise AssertionError(f"waited a minute in vain for {what}")


def listen(test, handle):
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            handle(self, self.rfile.read(int(self.headers.get("Content-Length", 0))))

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    test.addCleanup(server.server_close)
    test.addCleanup(server.shutdown)
    return f"http://127.0.0.1:{server.server_port}"


class Live(unittest.TestCase):
    def refused(self, status, code, call):
        with self.assertRaises(ApiError) as raised:
            call()
        self.assertEqual((raised.exception.status, raised.exception.code), (status, code))
        self.assertTrue(raised.exception.request_id.startswith("req_"))
        return raised.exception

    def test_create_read_list_and_cancel_with_exact_amounts(self):
        for name, client in CLIENTS.items():
            with self.subTest(name):
                self.assertEqual(client.get_me()["key"]["mode"], "test")
                order = str(uuid.uuid4())
                body = transfer(metadata={"order": 17, "share": Decimal("0.1"), "id": order})
                made = client.create_payment(body, idempotency_key=order)
                self.assertEqual(made["payment"]["fiatAmount"], Decimal("1234567.89"))
                self.assertEqual(client.create_payment(body, idempotency_key=order), made)
                self.refused(422, "idempotency_key_reused", lambda: client.create_payment(transfer(fiatAmount=5000), idempotency_key=order))

                reference = made["payment"]["reference"]
                read = client.get_payment(reference)["payment"]
                self.assertEqual(read["fiatAmount"], Decimal("1234567.89"))
                self.assertEqual(read["cryptoAmount"], made["payment"]["cryptoAmount"])
                self.assertEqual((type(read["rate"]), type(read["charge"]["fiat"]), type(read["confirmations"])), (Decimal, Decimal, int))
                self.assertEqual(read["metadata"], {"order": 17, "share": Decimal("0.1"), "id": order})

                client.create_payment(transfer(fiatAmount=5000))
                listed = [payment["reference"] for payment in client.iterate_payments(limit=1, type_="transfer")]
                self.assertEqual(listed.count(reference), 1)
                self.assertEqual(len(set(listed)), len(listed))
                self.assertEqual(client.cancel_payment(reference)["payment"]["status"], "cancelled")
                ended = list(client.iterate_payments(status=["cancelled", "expired"], payer_chat_id="42"))
                self.assertIn(reference, [payment["reference"] for payment in ended])

    def test_refusals_are_typed(self):
        for name, client in CLIENTS.items():
            with self.subTest(name):
                self.refused(404, "payment_not_found", lambda: client.get_payment("CW-AAAAAAAAAAAA"))
                e = self.refused(400, "validation_failed", lambda: client.create_payment({"type": "transfer", "fiatCurrency": "NGN"}))
                self.assertIn("crypto", [f.field for f in e.fields])

    def test_18_digits_go_to_a_wallet_and_come_back(self):
        made = [PLAIN.create_wallet({"network": "bsc", "crypto": "USDT", "expiresInMinutes": Decimal("60.5")})["wallet"]["id"] for _ in range(3)]
        PLAIN.sandbox_deposit_wallet(made[0], {"amount": Decimal("1234567.000000000000000001")})
        amount = eventually("the deposit", lambda: next((a for a in [SIGNED.get_wallet(made[0])["wallet"]["amount"]] if a != "0"), None))
        self.assertEqual(amount, "1234567.000000000000000001")
        for query in ({"limit": 2}, {"limit": 2, "offset": 0}):
            listed = [wallet["id"] for wallet in PLAIN.iterate_wallets(**query)]
            self.assertEqual([one for one in listed if one in made], made[::-1])

    def test_reports_are_found_on_all_pages(self):
        address = "0x" + uuid.uuid4().hex
        for i in range(3):
            PLAIN.create_report({"complaintType": "fraud", "name": f"Ada {i}", "walletAddress": address})
        for query in ({"limit": 1}, {"limit": 1, "offset": 0}):
            names = [report["name"] for report in PLAIN.iterate_lookup_reports(wallet_address=address, **query)]
            self.assertEqual(names, ["Ada 2", "Ada 1", "Ada 0"])

    def test_an_answer_that_was_lost_makes_no_second_payment(self):
        lost = []

        def onward(handler, body):
            headers = {name: value for name, value in handler.headers.items() if name.lower() not in ("host", "connection")}
            with urllib.request.urlopen(urllib.request.Request(URL + handler.path, body, headers)) as answer:
                raw = answer.read()
            lost.append(raw)
            if len(lost) == 1:
                handler.connection.close()
                return
            handler.send_response(answer.status)
            handler.send_header("Content-Length", str(len(raw)))
            handler.end_headers()
            handler.wfile.write(raw)

        chat = str(uuid.uuid4())
        payment = Causeway(base_url=listen(self, onward), api_key=KEY).create_payment(transfer(payer={"chatId": chat}))["payment"]
        self.assertEqual(len(lost), 2)
        self.assertEqual([one["reference"] for one in PLAIN.iterate_payments(payer_chat_id=chat)], [payment["reference"]])

    def test_webhooks_are_verified_also_while_the_secret_is_replaced(self):
        old = PLAIN.get_webhook_secret()["secret"]
        fresh = PLAIN.rotate_webhook_secret()["secret"]
        events, problems = [], []

        def hook(handler, body):
            try:
                events.extend(verify_webhook(body, dict(handler.headers), secrets) for secrets in (old, fresh, [fresh, old]))
                with self.assertRaises(WebhookError):
                    verify_webhook(body + b" ", dict(handler.headers), [fresh, old])
            except Exception as problem:
                problems.append(problem)
            handler.send_response(204)
            handler.end_headers()

        reference = PLAIN.create_payment(transfer(callbackUrl=listen(self, hook)))["payment"]["reference"]
        PLAIN.sandbox_deposit_payment(reference)
        settled = eventually("payment.settled", lambda: next((e for e in events if e["type"] == "payment.settled"), None))["data"]["payment"]
        self.assertEqual((settled["reference"], settled["fiatAmount"], settled["sequence"]), (reference, Decimal("1234567.89"), 5))
        self.assertEqual(problems, [])

    def run_example(self, name):
        return subprocess.run([sys.executable, EXAMPLES / f"{name}.py"], check=True, capture_output=True, text=True, timeout=60).stdout

    def test_the_examples_run(self):
        self.assertRegex(self.run_example("transfer"), r": send [0-9.]+ USDT to T\w+\n(.*\n)*CW-\w+: settled\n$")
        self.assertRegex(self.run_example("list"), r"(?m)^[0-9]+(\.[0-9]+)? NGN$")
        environment = {**os.environ, "WEBHOOK_SECRET": PLAIN.get_webhook_secret()["secret"], "PORT": "0"}
        with subprocess.Popen([sys.executable, EXAMPLES / "webhooks.py"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as shop:
            self.addCleanup(shop.kill)
            url = shop.stdout.readline().split()[-1]
            with self.assertRaises(urllib.error.HTTPError) as raised:
                urllib.request.urlopen(url, b"{}")
            self.assertEqual(raised.exception.code, 400)
            raised.exception.close()
            reference = PLAIN.create_payment(transfer(fiatAmount=5000, callbackUrl=url))["payment"]["reference"]
            PLAIN.sandbox_deposit_payment(reference)
            line = next(line for line in shop.stdout if line.startswith("payment.settled"))
            self.assertEqual(line, f"payment.settled {reference}: 5000 NGN\n")
            shop.kill()


if __name__ == "__main__":
    unittest.main()
