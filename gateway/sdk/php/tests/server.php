<?php

// A server that gives the answers named in its arguments in turn, the last one again and again: `drop`, `cut`, `hang`, or
// JSON of status, headers and body. It prints its URL, and then each request as a line of JSON.

declare(strict_types=1);

$server = stream_socket_server('tcp://127.0.0.1:0');
echo 'http://' . stream_socket_get_name($server, false) . "\n";
for ($n = 1; $connection = stream_socket_accept($server, 3600); $n++) {
    $head = '';
    while (!str_ends_with($head, "\r\n\r\n")) {
        $head .= $byte = (string) fread($connection, 1);
        if ($byte === '') {
            continue 2;
        }
    }
    $lines = explode("\r\n", trim($head));
    [$method, $target] = explode(' ', array_shift($lines));
    $headers = [];
    foreach ($lines as $line) {
        [$name, $value] = explode(': ', $line, 2);
        $headers[strtolower($name)] = $value;
    }
    $length = (int) ($headers['content-length'] ?? 0);
    $body = $length > 0 ? stream_get_contents($connection, $length) : '';
    echo json_encode(['method' => $method, 'target' => $target, 'headers' => $headers, 'body' => $body]) . "\n";
    $answer = $argv[min($n, $argc - 1)];
    if ($answer === 'hang') {
        usleep(500_000);
    } elseif ($answer === 'cut') {
        fwrite($connection, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"success\":");
    } elseif ($answer !== 'drop') {
        [$status, $more, $text] = json_decode($answer, true);
        fwrite($connection, "HTTP/1.1 $status X\r\nConnection: close\r\nContent-Length: " . strlen($text) . "\r\n" . implode('', array_map(fn ($h) => "$h\r\n", $more)) . "\r\n$text");
    }
    fclose($connection);
}
