"""Every recorded case of gateway/sdk/testdata/vectors.json."""

import json
import re
import unittest
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path

import causeway
from causeway import WebhookError, key_mode, request_signature, verify_webhook
from causeway._json import decode, encode
from causeway._retry import retry_wait

HERE = Path(__file__).parent
VECTORS = json.loads((HERE / "../../testdata/vectors.json").read_text())


class Vectors(unittest.TestCase):
    def test_keys(self):
        for case in VECTORS["keys"]:
            with self.subTest(case["key"]):
                if case["mode"] is None:
                    with self.assertRaises(ValueError):
                        key_mode(case["key"], case["kind"])
                else:
                    self.assertEqual(key_mode(case["key"], case["kind"]), case["mode"])

    def test_a_refused_key_is_not_in_the_message(self):
        key = VECTORS["keys"][0]["key"][:-1]
        with self.assertRaises(ValueError) as raised:
            key_mode(key, "sk")
        self.assertNotIn(key[8:], str(raised.exception))

    def test_signatures_of_requests(self):
        for case in VECTORS["requestSignatures"]:
            with self.subTest(case["name"]):
                got = request_signature(case["secret"], case["timestamp"], case["method"], case["path"], case["body"])
                self.assertEqual(got, case["signature"])

    def test_webhooks(self):
        for case in VECTORS["webhooks"]:
            for body in (case["body"], case["body"].encode()):
                with self.subTest(case["name"], body=type(body)):
                    if case["error"] is None:
                        event = verify_webhook(body, case["headers"], case["secrets"], now=case["now"])
                        self.assertEqual(json.loads(encode(event), parse_float=Decimal), json.loads(case["body"], parse_float=Decimal))
                        continue
                    with self.assertRaises(WebhookError) as raised:
                        verify_webhook(body, case["headers"], case["secrets"], now=case["now"])
                    self.assertEqual(raised.exception.reason, case["error"])

    def test_amounts_of_an_event(self):
        case = VECTORS["webhooks"][1]
        payment = verify_webhook(case["body"], case["headers"], case["secrets"][0], now=case["now"])["data"]["payment"]
        self.assertEqual(payment["fiatAmount"], Decimal("1234567.89"))
        self.assertEqual(payment["cryptoAmount"], Decimal("0.000000000000000001"))
        self.assertIs(type(payment["confirmations"]), int)

    def test_wrong_use_is_no_forged_webhook(self):
        case = VECTORS["webhooks"][1]
        for secret in (*VECTORS["badWebhookSecrets"], []):
            with self.subTest(secret), self.assertRaises(ValueError):
                verify_webhook(case["body"], case["headers"], secret, now=case["now"])
        with self.assertRaises(TypeError):
            verify_webhook(json.loads(case["body"]), case["headers"], case["secrets"])

    def test_decimals(self):
        for case in VECTORS["decimals"]:
            with self.subTest(case["text"]):
                got = decode(f'{{"a":{case["text"]}}}', frozenset())["a"]
                self.assertIs(type(got), Decimal)
                self.assertEqual(got, Decimal(case["want"]))
                written = encode(got)
                self.assertRegex(written, r"\A-?[0-9]+(\.[0-9]+)?\Z")
                self.assertEqual(Decimal(written), Decimal(case["want"]))

    def test_numbers_that_json_does_not_have(self):
        for text in VECTORS["badDecimals"]:
            if text == text.strip():  # around a number JSON allows spaces
                with self.subTest(text), self.assertRaises(ValueError):
                    decode(f'{{"a":{text}}}', frozenset())

    def test_floats_are_refused(self):
        for value in (0.1, 2.0, float("nan")):
            with self.subTest(value), self.assertRaises(TypeError):
                encode({"fiatAmount": value})
        for value in (Decimal("NaN"), Decimal("Infinity"), Decimal("1e1000000")):
            with self.subTest(value), self.assertRaises(ValueError):
                encode({"fiatAmount": value})

    def test_requests(self):
        at = datetime(2026, 4, 1, 14, 30, tzinfo=timezone(timedelta(hours=1)))
        value = {"a": Decimal("1234567.89"), "b": 10**18, "c": Decimal("1E+3"), "e": None, "f": (True, 'x"\n'), "g": at, "h": Decimal("0E-18")}
        want = '{"a":1234567.89,"b":1000000000000000000,"c":1000,"e":null,"f":[true,"x\\"\\n"],"g":"2026-04-01T13:30:00.000Z","h":0.000000000000000000}'
        self.assertEqual(encode(value), want)
        for wrong in ({"a": object()}, {1: "a"}, {"a": b"x"}, {"a": datetime(2026, 4, 1)}):
            with self.subTest(wrong), self.assertRaises(TypeError):
                encode(wrong)

    def test_answers(self):
        for case in VECTORS["answers"]:
            got = decode(case["text"], frozenset(case["integers"]))
            for kind, wants in ((Decimal, case["decimals"]), (int, case["numbers"]), (str, case["texts"])):
                for path, want in wants.items():
                    with self.subTest(case["name"], path=path):
                        value = got
                        for name in path.split("."):
                            value = value[int(name)] if isinstance(value, list) else value[name]
                        self.assertIs(type(value), kind)
                        self.assertEqual(value, kind(want))
        for text in VECTORS["badAnswers"]:
            with self.subTest(text), self.assertRaises(ValueError):
                decode(text, frozenset())

    def test_repetitions(self):
        for case in VECTORS["retries"]:
            failure = case["failure"]
            with self.subTest(case["name"]):
                got = retry_wait(
                    failure.get("status"), failure.get("code"), failure.get("retryAfter"), repeatable=case["repeatable"], attempt=case["attempt"],
                    max_retries=case["maxRetries"], max_wait=case["maxWait"], random=case["random"],
                )
                self.assertEqual(got, case["wait"])

    def test_the_version_is_that_of_the_package(self):
        project = (HERE / "../pyproject.toml").read_text()
        self.assertEqual(causeway.__version__, re.search(r'^version = "(.*)"$', project, re.M)[1])


if __name__ == "__main__":
    unittest.main()
