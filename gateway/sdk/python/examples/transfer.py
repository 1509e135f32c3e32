"""Makes a payment in test mode, plays its payer, and waits until the receiver has the money.

CAUSEWAY_URL=… CAUSEWAY_API_KEY=sk_test_… python examples/transfer.py
"""

import os
import sys
import time
from decimal import Decimal

from causeway import ApiError, Causeway

causeway = Causeway(
    base_url=os.environ["CAUSEWAY_URL"],
    api_key=os.environ["CAUSEWAY_API_KEY"],
    mode="test",  # a live key is refused here
)

try:
    order = f"order-{time.time_ns()}"
    payment = causeway.create_payment(
        {
            "type": "transfer",
            "fiatAmount": Decimal("25000.50"),
            "fiatCurrency": "NGN",
            "crypto": "USDT",
            "network": "tron",
            "chargeFrom": "fiat",
            "payer": {"chatId": "42"},
            "receiver": {"bankCode": "058", "accountNumber": "0123456789"},
            "metadata": {"order": order},
        },
        idempotency_key=order,  # a second run for this order makes no second payment
    )["payment"]
    if "depositAddress" not in payment:
        sys.exit("a transfer has a deposit address")
    print(f"{payment['reference']}: send {payment['cryptoAmount']:f} {payment['crypto']} to {payment['depositAddress']}")

    causeway.sandbox_deposit_payment(payment["reference"])
    while True:
        now = causeway.get_payment(payment["reference"])["payment"]
        print(f"{now['reference']}: {now['status']}")
        if now["status"] == "settled":
            break
        time.sleep(0.5)  # a shop waits for the webhook instead
except ApiError as error:
    sys.exit(f"{error} {error.fields}")
