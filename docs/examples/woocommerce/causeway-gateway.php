<?php

/**
 * Plugin Name: Causeway for WooCommerce
 * Description: Buyers pay in crypto, and the shop gets the exact price on its bank account.
 * Requires PHP: 8.2
 * Requires Plugins: woocommerce
 */

declare(strict_types=1);

use Causeway\{ApiException, Client, Decimal, RequestOptions, Webhook, WebhookException};

add_filter('woocommerce_payment_gateways', static fn (array $gateways): array => [...$gateways, Causeway_Gateway::class]);
add_action('plugins_loaded', static function (): void {
    if (!class_exists('WC_Payment_Gateway')) {
        return; // WooCommerce is switched off
    }

    /** A way to pay in WooCommerce. Its settings are the API's address and key, the webhook secret and the bank account. */
    class Causeway_Gateway extends WC_Payment_Gateway
    {
        public function __construct()
        {
            $this->id = 'causeway';
            $this->method_title = 'Causeway';
            $this->title = 'Crypto (USDT, USDC, BTC and others)';
            $this->has_fields = false;
            $this->supports = ['products', 'refunds'];
            $this->init_form_fields();
            $this->init_settings();
            add_action('woocommerce_update_options_payment_gateways_causeway', [$this, 'process_admin_options']);
            add_action('woocommerce_api_causeway', [$this, 'webhook']);
        }

        public function init_form_fields(): void
        {
            $this->form_fields = [
                'url' => ['title' => 'Address of the API', 'type' => 'text'],
                'key' => ['title' => 'API key', 'type' => 'password'],
                'secret' => ['title' => 'Webhook secret', 'type' => 'password'],
                'bank' => ['title' => 'Bank code', 'type' => 'text'],
                'account' => ['title' => 'Account number', 'type' => 'text'],
            ];
        }

        private function causeway(): Client
        {
            return new Client(baseUrl: (string) $this->get_option('url'), apiKey: (string) $this->get_option('key'), userAgent: 'woocommerce');
        }

        /**
         * Sends the buyer to the pay page. The order's number and that of the attempt are the idempotency key: a second
         * click, or a crash between the two steps, makes no second payment. A payment that ended unpaid is followed by
         * another attempt.
         */
        public function process_payment($order_id): array
        {
            $order = wc_get_order($order_id);
            $attempt = (int) ($order->get_meta('_causeway_attempt') ?: 1);
            try {
                for (;; $attempt++) {
                    $name = $order->get_id() . "-$attempt-" . substr($order->get_order_key(), -8); // order numbers begin anew in a new shop
                    ['payment' => $made] = $this->causeway()->createPayment([
                        'type' => 'request',
                        'fiatAmount' => new Decimal((string) $order->get_total()),
                        'fiatCurrency' => $order->get_currency(),
                        'receiver' => ['bankCode' => (string) $this->get_option('bank'), 'accountNumber' => (string) $this->get_option('account')],
                        'merchantReference' => $name,
                        'description' => 'Order ' . $order->get_id(),
                        'returnUrl' => $this->get_return_url($order),
                        'callbackUrl' => WC()->api_request_url('causeway'),
                    ], new RequestOptions(idempotencyKey: $order->get_order_key() . "-$attempt"));
                    ['payment' => $payment] = $this->causeway()->getPayment($made['reference']);
                    if (!in_array($payment['status'], ['expired', 'cancelled'], true)) {
                        break;
                    }
                }
            } catch (ApiException $e) {
                wc_add_notice("The payment could not be made: {$e->getMessage()}", 'error');
                return ['result' => 'failure'];
            }
            $order->update_meta_data('_causeway_attempt', (string) $attempt);
            $order->update_meta_data('_causeway_reference', $payment['reference']);
            $order->save();
            return ['result' => 'success', 'redirect' => $payment['checkoutUrl']];
        }

        /**
         * Takes a webhook. WooCommerce calls it at /?wc-api=causeway. The answer 2xx leaves after the order is saved. A
         * shop may still have two secrets in its settings, with a space between them.
         */
        public function webhook(): void
        {
            $secrets = preg_split('/\s+/', (string) $this->get_option('secret'), -1, PREG_SPLIT_NO_EMPTY);
            try {
                $event = Webhook::verify((string) file_get_contents('php://input'), getallheaders(), $secrets);
            } catch (WebhookException) {
                status_header(400);
                return;
            } catch (InvalidArgumentException $e) {
                error_log("Causeway: webhook not verified, the webhook secret in the settings is wrong: {$e->getMessage()}");
                status_header(500); // Causeway sends it again
                return;
            }
            $payment = $event['data']['payment'] ?? null;
            if ($payment !== null) {
                $this->note($payment);
            }
            status_header(204);
        }

        /**
         * Brings an order up to date with its payment. Webhooks may come twice and in any order, so what counts is the
         * payment's sequence, which only grows. Money that comes late for an earlier attempt is for a person to look at.
         */
        private function note(array $payment): void
        {
            $order = wc_get_order((int) ($payment['merchantReference'] ?? 0)); // 17-2-… is the second attempt of order 17
            if (!$order || $order->get_meta('_causeway_reference') !== $payment['reference'] || $payment['sequence'] <= (int) $order->get_meta('_causeway_sequence')) {
                return;
            }
            $order->update_meta_data('_causeway_sequence', (string) $payment['sequence']);
            $order->update_meta_data('_causeway_exception', (string) $payment['exception']);
            $order->save();
            $refund = end($payment['refunds']);
            if ($refund) {
                $order->add_order_note("Refund of $refund[amount] $refund[crypto]: $refund[status]");
            }
            match ($payment['status']) {
                'settled' => $order->is_paid() || $order->payment_complete($payment['reference']), // the bank account has the money
                'confirming', 'confirmed', 'settling' => $order->update_status('on-hold', 'The network has the money.'),
                'needs_review' => $order->update_status('on-hold', "An operator looks at the payment: $payment[exception]"),
                'refunded' => $order->update_status('refunded', 'All of the crypto went back.'),
                'cancelled' => $order->is_paid() || $order->update_status('cancelled', 'The payment was cancelled.'),
                default => null, // an expired payment can still settle, and the buyer can pay again
            };
        }

        /**
         * Sends back all crypto that is owed to the buyer, such as what was paid too much. The buyer names the address on
         * the pay page; pressing Refund confirms it. Money that was paid out to the bank account is the shop's own to send.
         */
        public function process_refund($order_id, $amount = null, $reason = '')
        {
            $order = wc_get_order($order_id);
            $reference = (string) $order->get_meta('_causeway_reference');
            try {
                ['payment' => $payment] = $this->causeway()->getPayment($reference);
                if (isset($payment['refundAddressProposed'])) {
                    $this->causeway()->confirmRefundAddress($reference, ['address' => $payment['refundAddressProposed']]);
                }
                $this->causeway()->createRefund($reference, ['reason' => $reason ?: 'order ' . $order->get_id()], new RequestOptions(idempotencyKey: "refund-$reference"));
            } catch (ApiException $e) {
                return new WP_Error($e->errorCode, $e->getMessage());
            }
            return true;
        }
    }
});
