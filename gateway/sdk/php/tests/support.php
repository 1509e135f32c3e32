<?php

// The few words that these tests need. A test fails by an exception, and the run ends with status 1.

declare(strict_types=1);

require __DIR__ . '/../src/autoload.php';

set_error_handler(static fn (int $level, string $message, string $file, int $line): bool =>
    error_reporting() & $level ? throw new ErrorException($message, 0, $level, $file, $line) : false);

/** @var array<string, Closure> */
$tests = [];

function test(string $name, Closure $body): void
{
    $GLOBALS['tests'][$name] = $body;
}

function same(mixed $want, mixed $got, string $what): void
{
    if ($want !== $got) {
        throw new Exception("$what: got " . var_export($got, true) . ', want ' . var_export($want, true));
    }
}

function matches(string $pattern, string $got, string $what): void
{
    same(1, preg_match($pattern, $got), "$what: match $pattern with $got");
}

/**
 * @template T of Throwable
 * @param class-string<T> $class
 * @return T
 */
function raises(string $class, Closure $body, string $what): Throwable
{
    try {
        $body();
    } catch (Throwable $e) {
        if ($e instanceof $class) {
            return $e;
        }
        throw new Exception("$what: want a $class, got " . $e::class . ': ' . $e->getMessage(), 0, $e);
    }
    throw new Exception("$what: want a $class, and nothing was thrown");
}

function run(): never
{
    $failed = 0;
    foreach ($GLOBALS['tests'] as $name => $body) {
        try {
            $body();
            echo "ok   $name\n";
        } catch (Throwable $e) {
            $failed++;
            echo "FAIL $name\n$e\n";
        }
    }
    printf("%d tests, %d failed\n", count($GLOBALS['tests']), $failed);
    exit($failed > 0 ? 1 : 0);
}

/** @return array<string, mixed> */
function vectors(): array
{
    return json_decode(file_get_contents(__DIR__ . '/../../testdata/vectors.json'), true, 64, JSON_THROW_ON_ERROR);
}

/** A program that runs beside a test. */
final class Beside
{
    /** @var resource */
    private $process;
    /** @var array<int, resource> */
    private array $pipes = [];

    /**
     * @param list<string> $command
     * @param array<string, string> $environment
     */
    public function __construct(array $command, array $environment = [])
    {
        $this->process = proc_open($command, [1 => ['pipe', 'w']], $this->pipes, null, $environment + getenv());
    }

    /** Its next line of output. */
    public function line(): string
    {
        $line = fgets($this->pipes[1]);
        return $line === false ? throw new Exception('the program beside the test ended') : rtrim($line, "\n");
    }

    public function __destruct()
    {
        proc_terminate($this->process, 9);
        fclose($this->pipes[1]);
        proc_close($this->process);
    }
}
