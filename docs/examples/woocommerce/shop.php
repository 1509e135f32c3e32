<?php

// A shop with as much of WooCommerce as the plugin touches, so that it runs without WordPress: php -S 127.0.0.1:3001
// shop.php. The orders are a file.

declare(strict_types=1);

require __DIR__ . '/../../../gateway/sdk/php/src/autoload.php';

/** @var array<string, list<callable>> */
$hooks = [];

function add_action(string $name, callable $f): void
{
    $GLOBALS['hooks'][$name][] = $f;
}

function add_filter(string $name, callable $f): void
{
    add_action($name, $f);
}

function do_action(string $name): void
{
    foreach ($GLOBALS['hooks'][$name] ?? [] as $f) {
        $f();
    }
}

function status_header(int $code): void
{
    http_response_code($code);
}

function wc_add_notice(string $text, string $kind): void
{
    echo htmlspecialchars("$kind: $text");
}

final class WP_Error
{
    public function __construct(public string $code, public string $message) {}
}

function home(): string
{
    return (string) getenv('SHOP_URL');
}

final class Shop
{
    public function api_request_url(string $name): string
    {
        return home() . "/?wc-api=$name";
    }
}

function WC(): Shop
{
    return new Shop();
}

abstract class WC_Payment_Gateway
{
    public string $id = '';
    public string $method_title = '';
    public string $title = '';
    public bool $has_fields = false;
    public array $supports = [];
    public array $form_fields = [];

    public function init_settings(): void {}

    public function process_admin_options(): void {}

    public function get_option(string $name): string
    {
        return ['url' => getenv('CAUSEWAY_URL'), 'key' => getenv('CAUSEWAY_API_KEY'), 'secret' => getenv('WEBHOOK_SECRET'), 'bank' => '058', 'account' => '0123456789'][$name];
    }

    public function get_return_url(WC_Order $order): string
    {
        return home() . '/order/' . $order->get_id();
    }
}

final class WC_Order
{
    public function __construct(public array $data) {}

    public function get_id(): int
    {
        return $this->data['id'];
    }

    public function get_order_key(): string
    {
        return $this->data['key'];
    }

    public function get_total(): string
    {
        return '25000';
    }

    public function get_currency(): string
    {
        return 'NGN';
    }

    public function get_meta(string $name): string
    {
        return $this->data['meta'][$name] ?? '';
    }

    public function update_meta_data(string $name, string $value): void
    {
        $this->data['meta'][$name] = $value;
    }

    public function is_paid(): bool
    {
        return $this->data['status'] === 'processing';
    }

    public function payment_complete(string $transaction): bool
    {
        return $this->update_status('processing', "Paid: $transaction");
    }

    public function update_status(string $status, string $note): bool
    {
        $this->data['status'] = $status;
        $this->add_order_note($note);
        return true;
    }

    public function add_order_note(string $note): void
    {
        $this->data['notes'][] = $note;
        $this->save();
    }

    public function save(): void
    {
        $orders = orders();
        $orders[$this->get_id()] = $this->data;
        file_put_contents(orders_file() . '.new', json_encode($orders, JSON_THROW_ON_ERROR));
        rename(orders_file() . '.new', orders_file());
    }
}

function orders_file(): string
{
    return getenv('ORDERS') ?: __DIR__ . '/orders.json';
}

/** @return array<int, array> */
function orders(): array
{
    return is_file(orders_file()) ? json_decode((string) file_get_contents(orders_file()), true, flags: JSON_THROW_ON_ERROR) : [];
}

function wc_get_order(int|string $id): WC_Order|false
{
    $data = orders()[(int) $id] ?? null;
    return $data === null ? false : new WC_Order($data);
}

require __DIR__ . '/causeway-gateway.php';
do_action('plugins_loaded');
$gateway = new Causeway_Gateway();

$path = parse_url((string) $_SERVER['REQUEST_URI'], PHP_URL_PATH);
[, $at, $id, $act] = explode('/', $path) + ['', '', '', ''];
$order = $at === 'order' ? wc_get_order($id) : false;
$page = static function (int $status, string ...$lines): void {
    http_response_code($status);
    header('Content-Type: text/html; charset=utf-8');
    echo '<!doctype html><html lang="en"><title>The shop</title><main>', implode("\n", $lines), '</main></html>';
};
$pay = static function (WC_Order $order) use ($gateway): void {
    $answer = $gateway->process_payment($order->get_id());
    if ($answer['result'] === 'success') {
        header("Location: $answer[redirect]", true, 303);
    }
};

switch ($_SERVER['REQUEST_METHOD'] . ' ' . ($order ? "order/$act" : $at)) {
    case 'GET ':
        $page(200, '<h1>The shop</h1><form method="post" action="/order"><button>Buy a lamp for 25000 naira</button></form>');
        break;
    case 'POST ': // WooCommerce's address for webhooks of plugins
        ($_GET['wc-api'] ?? '') === 'causeway' ? do_action('woocommerce_api_causeway') : http_response_code(404);
        break;
    case 'POST order': // on disk before the payment is asked for
        $order = new WC_Order(['id' => count(orders()) + 1, 'key' => 'wc_order_' . bin2hex(random_bytes(8)), 'status' => 'pending', 'notes' => [], 'meta' => []]);
        $order->save();
        $pay($order);
        break;
    case 'GET order/':
        $page(
            200,
            '<h1>Order ' . $order->get_id() . '</h1><p>Status: ' . $order->data['status'] . '</p>',
            ...array_map(static fn (string $note): string => '<p>' . htmlspecialchars($note) . '</p>', $order->data['notes']),
        );
        break;
    case 'POST order/pay':
        $pay($order);
        break;
    case 'POST order/refund': // WooCommerce has this button in its administration
        $done = $gateway->process_refund($order->get_id(), null, 'paid too much');
        $done instanceof WP_Error ? $page(409, '<p>' . htmlspecialchars("$done->code: $done->message") . '</p>') : header('Location: /order/' . $order->get_id(), true, 303);
        break;
    default:
        $page(404, '<h1>There is no such page</h1>');
}
