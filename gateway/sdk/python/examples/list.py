"""Adds up what was paid out, over all pages of the list.

CAUSEWAY_URL=… CAUSEWAY_API_KEY=sk_test_… python examples/list.py
"""

import os
from decimal import Decimal
from typing import Dict

from causeway import Causeway

causeway = Causeway(base_url=os.environ["CAUSEWAY_URL"], api_key=os.environ["CAUSEWAY_API_KEY"])

totals: Dict[str, Decimal] = {}
for payment in causeway.iterate_payments(status="settled"):
    currency = payment["fiatCurrency"]
    totals[currency] = totals.get(currency, Decimal(0)) + payment.get("payoutAmount", Decimal(0))
for currency, total in totals.items():
    print(f"{total:f} {currency}")
