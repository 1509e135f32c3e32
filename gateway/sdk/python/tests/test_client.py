"""The client against a server on this machine that fails in every way that a network has."""

import json
import socket
import struct
import threading
import time
import unittest
from datetime import datetime, timezone
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from causeway import ApiError, Causeway, CausewayError, ConnectionFailed, FieldError, request_signature

KEYS = json.loads((Path(__file__).parent / "../../testdata/vectors.json").read_text())["keys"]
SECRET, LIVE, PUBLIC = (case["key"] for case in KEYS[:3])
GIFT = {"type": "gift", "fiatCurrency": "NGN"}


class Server:
    """Gives the answers in turn, the last one again and again, and keeps the requests."""

    def __init__(self, test, *answers):
        requests = self.requests = []

        class Handler(BaseHTTPRequestHandler):
            def answer(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
                requests.append((self.command, self.path, {name.lower(): value for name, value in self.headers.items()}, body))
                answers[min(len(requests), len(answers)) - 1](self)

            do_GET = do_POST = do_PATCH = do_DELETE = answer

            def log_message(self, *args):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        test.addCleanup(server.server_close)
        test.addCleanup(server.shutdown)
        self.base = f"http://127.0.0.1:{server.server_port}"

    def client(self, **options):
        return Causeway(**{"base_url": self.base, "api_key": SECRET, **options})


def answer(status, body, **headers):
    def send(handler):
        handler.send_response(status)
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(body.encode())), **given}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body.encode())

    return send


def refusal(status, code, **headers):
    error = {"code": code, "message": "No.", "requestId": "req_1", "fields": [{"field": "type", "message": "is required"}]}
    return answer(status, json.dumps({"success": False, "message": "No.", "error": error}), **headers)


PAYMENT = answer(200, '{"success":true,"payment":{"reference":"CW-1","fiatAmount":1234567.89,"cryptoAmount":0.000000000000000001,"confirmations":2}}')
AWAY = refusal(503, "overloaded", Retry_After="0")


def drop(handler):
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()


def cut(handler):
    answer(200, '{"success":', Content_Length="100")(handler)


def hang(handler):
    time.sleep(0.5)


def drip(handler):
    handler.send_response(200)
    handler.end_headers()
    try:
        for _ in range(100):
            handler.wfile.write(b" ")
            time.sleep(0.02)
    except OSError:
        pass


class Client(unittest.TestCase):
    def test_a_request_and_its_answer(self):
        s = Server(self, PAYMENT)
        payment = s.client(user_agent="shop/2").create_payment({**GIFT, "fiatAmount": Decimal("1234567.89")})["payment"]
        self.assertEqual(payment["fiatAmount"], Decimal("1234567.89"))
        self.assertEqual(payment["cryptoAmount"], Decimal("0.000000000000000001"))
        self.assertIs(type(payment["confirmations"]), int)
        method, path, headers, body = s.requests[0]
        self.assertEqual((method, path, body), ("POST", "/v1/payments", '{"type":"gift","fiatCurrency":"NGN","fiatAmount":1234567.89}'))
        self.assertEqual((headers["authorization"], headers["content-type"]), (f"Bearer {SECRET}", "application/json"))
        self.assertRegex(headers["user-agent"], r"^causeway-sdk-python/\d+\.\d+\.\d+ python/\S+ shop/2$")
        self.assertRegex(headers["idempotency-key"], r"^[0-9a-f-]{36}$")

    def test_names_in_paths_and_queries_are_escaped(self):
        s = Server(self, PAYMENT)
        s.client().get_payment("a/../b?c#d")
        s.client().list_payments(status=["settled", "expired"], from_=datetime(2026, 4, 1, tzinfo=timezone.utc))
        self.assertEqual([r[1] for r in s.requests], ["/v1/payments/a%2F..%2Fb%3Fc%23d", "/v1/payments?status=settled%2Cexpired&from=2026-04-01T00%3A00%3A00.000Z"])
        self.assertNotIn("idempotency-key", s.requests[0][2])
        for name in ("", ".", "..", None):
            with self.subTest(name), self.assertRaises(TypeError):
                s.client().get_payment(name)

    def test_a_post_is_repeated_with_its_key_and_its_bytes(self):
        faults = {"drop": drop, "cut": cut, "503": AWAY, "still runs": refusal(409, "idempotency_in_progress", Retry_After="0"), "502 of a proxy": answer(502, "<html>")}
        for name, fault in faults.items():
            with self.subTest(name):
                s = Server(self, fault, fault, PAYMENT)
                s.client().create_payment(GIFT, idempotency_key="order 17")
                self.assertEqual([(r[2]["idempotency-key"], r[3]) for r in s.requests], [("order 17", '{"type":"gift","fiatCurrency":"NGN"}')] * 3)

    def test_each_call_has_a_key_and_its_repetitions_share_it(self):
        s = Server(self, drop, PAYMENT)
        client = s.client()
        client.cancel_payment("CW-1")
        client.cancel_payment("CW-1")
        first, again, second = (r[2]["idempotency-key"] for r in s.requests)
        self.assertEqual(first, again)
        self.assertNotEqual(first, second)

    def test_repetitions_end(self):
        s = Server(self, AWAY)
        with self.assertRaises(ApiError) as raised:
            s.client(max_retries=2).get_me()
        self.assertEqual((raised.exception.status, raised.exception.retry_after, len(s.requests)), (503, 0, 3))
        with self.assertRaises(ApiError):
            s.client().get_me(max_retries=0)
        self.assertEqual(len(s.requests), 4)

    def test_a_request_that_must_not_be_repeated_is_sent_once(self):
        for fault, kind in ((drop, ConnectionFailed), (AWAY, ApiError), (refusal(400, "validation_failed"), ApiError)):
            with self.subTest(kind):
                s = Server(self, fault)
                with self.assertRaises(kind):
                    s.client().change_webhook_endpoint("whe_1", {"enabled": True})
                self.assertEqual(len(s.requests), 1)

    def test_retry_after_is_kept(self):
        s = Server(self, refusal(429, "rate_limited", Retry_After="1"), PAYMENT)
        began = time.monotonic()
        s.client().get_payment("CW-1")
        self.assertGreaterEqual(time.monotonic() - began, 1)
        s = Server(self, refusal(429, "rate_limited", Retry_After="120"))
        with self.assertRaises(ApiError) as raised:
            s.client().get_me()
        self.assertEqual((raised.exception.retry_after, len(s.requests)), (120, 1))

    def test_errors_are_typed(self):
        s = Server(self, refusal(400, "validation_failed"))
        with self.assertRaises(CausewayError) as raised:
            s.client().create_payment(GIFT)
        e = raised.exception
        self.assertEqual((e.status, e.code, e.request_id, e.fields, e.message), (400, "validation_failed", "req_1", (FieldError("type", "is required"),), "No."))

    def test_an_answer_that_is_not_of_the_api_is_an_error(self):
        for name, status, body in (("a page", 200, "<html>"), ("no object", 200, '"fine"'), ("a redirect", 302, ""), ("another shape", 418, '{"error":"tea"}')):
            with self.subTest(name):
                s = Server(self, answer(status, body, Location="http://127.0.0.1:1/", X_Request_Id="req_2"))
                with self.assertRaises(ApiError) as raised:
                    s.client().get_me()
                self.assertEqual((raised.exception.status, raised.exception.code, raised.exception.request_id), (status, "unreadable_answer", "req_2"))
                self.assertEqual(len(s.requests), 1)

    def test_an_attempt_ends_in_time(self):
        for fault in (hang, drip):
            with self.subTest(fault.__name__):
                s = Server(self, fault)
                began = time.monotonic()
                with self.assertRaisesRegex(ConnectionFailed, "no answer within 0.1 s"):
                    s.client(timeout=0.1, max_retries=0).get_me()
                self.assertLess(time.monotonic() - began, 0.4)

    def test_an_answer_without_end_is_refused(self):
        s = Server(self, answer(200, '{"a":"' + "x" * 5000 + '"}'))
        with self.assertRaisesRegex(CausewayError, "more than 4096 bytes"):
            s.client(max_answer=4096).get_me()
        self.assertEqual(len(s.requests), 1)

    def test_signed_requests_each_signed_afresh(self):
        s = Server(self, drop, PAYMENT)
        s.client(public_key=PUBLIC).create_payment(GIFT)
        s.client(public_key=PUBLIC).list_payments(limit=1)
        self.assertEqual(len(s.requests), 3)
        for method, path, headers, body in s.requests:
            self.assertNotIn("authorization", headers)
            self.assertEqual(headers["x-api-key"], PUBLIC)
            self.assertEqual(headers["x-signature"], request_signature(SECRET, int(headers["x-timestamp"]), method, path, body))
        self.assertNotEqual(s.requests[0][2]["x-timestamp"], s.requests[1][2]["x-timestamp"])
        self.assertNotIn(SECRET, repr(s.requests))

    def test_public_operations_get_no_key(self):
        s = Server(self, PAYMENT)
        s.client().get_checkout("CW-1")
        s.client(api_key=None).get_checkout("CW-1")
        s.client(api_key=None).lookup_reports(phone_number="1")
        self.assertEqual([r[2].get("authorization") for r in s.requests], [None] * 3)
        with self.assertRaises(TypeError):
            s.client(api_key=None).get_me()
        self.assertEqual(len(s.requests), 3)

    def test_pages_by_cursor(self):
        def page(items, following):
            return answer(200, json.dumps({"success": True, "payments": items, "pagination": {"limit": 2, "nextCursor": following, "hasMore": following is not None}}))

        s = Server(self, page(["a", "b"], "1"), page([], "2"), page(["c"], None))
        self.assertEqual(list(s.client().iterate_payments(type_="gift")), ["a", "b", "c"])
        self.assertEqual([r[1] for r in s.requests], ["/v1/payments?type=gift", "/v1/payments?type=gift&cursor=1", "/v1/payments?type=gift&cursor=2"])
        s = Server(self, page(["a"], "1"))
        with self.assertRaisesRegex(CausewayError, "repeats the cursor"):
            list(s.client().iterate_payments())

    def test_pages_by_offset_and_by_an_empty_cursor_first(self):
        def page(items, **more):
            return answer(200, json.dumps({"success": True, "data": {"reports": items, "total": 3, "limit": 2, "offset": 0, **more}}))

        s = Server(self, page(["a", "b"]), page(["c"]))
        self.assertEqual(list(s.client().iterate_lookup_reports(phone_number="1", offset=0, limit=2)), ["a", "b", "c"])
        self.assertEqual([r[1] for r in s.requests], ["/v1/reports/lookup?phoneNumber=1&limit=2&offset=0", "/v1/reports/lookup?phoneNumber=1&limit=2&offset=2"])
        s = Server(self, page(["a"], nextCursor="n", hasMore=True), page(["b"], nextCursor=None, hasMore=False))
        self.assertEqual(list(s.client().iterate_lookup_reports(wallet_address="0x1")), ["a", "b"])
        self.assertEqual([r[1] for r in s.requests], ["/v1/reports/lookup?walletAddress=0x1&cursor=", "/v1/reports/lookup?walletAddress=0x1&cursor=n"])

    def test_a_client_refuses_the_wrong_key(self):
        def make(**options):
            return Causeway(**{"base_url": "https://api.example", "api_key": SECRET, **options})

        self.assertEqual(make(mode="test").mode, "test")
        self.assertEqual(make(mode="live", api_key=LIVE).mode, "live")
        self.assertEqual(make(api_key=LIVE, base_url="http://localhost:1").mode, "live")
        for name, options in {
            "a test key for live": {"mode": "live"},
            "a live key for test": {"mode": "test", "api_key": LIVE},
            "no key for live": {"mode": "live", "api_key": None},
            "a live key over http": {"api_key": LIVE, "base_url": "http://api.example"},
            "a name that only begins like this machine": {"api_key": LIVE, "base_url": "http://localhost.example"},
            "a public id as secret": {"api_key": PUBLIC},
            "a secret as public id": {"public_key": SECRET},
            "a live secret with a test id": {"api_key": LIVE, "public_key": PUBLIC},
            "a public id alone": {"api_key": None, "public_key": PUBLIC},
            "a file": {"base_url": "file:///etc"},
            "a URL with a password": {"base_url": "https://a:b@api.example"},
            "a URL with a query": {"base_url": "https://api.example/?a"},
        }.items():
            with self.subTest(name), self.assertRaises(ValueError):
                make(**options)

    def test_an_idempotency_key_is_checked(self):
        s = Server(self, PAYMENT)
        for key in ("", " x", "a\nb", "é", "x" * 256):
            with self.subTest(key), self.assertRaises(ValueError):
                s.client().cancel_payment("CW-1", idempotency_key=key)
        self.assertEqual(s.requests, [])


if __name__ == "__main__":
    unittest.main()
