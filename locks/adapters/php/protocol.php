<?php
// The lock program's protocol for Symfony's locks: locks/program/README.md. As PHP serves every
// request in a process of its own, every acquisition is a process of its own here.

function say($to, array $line): void
{
    fwrite($to, json_encode($line) . "\n");
}

// tried is the outcome of an attempt.
function tried(callable $attempt): array
{
    try {
        return $attempt() ? ['outcome' => 'ok'] : ['outcome' => 'failed', 'error' => 'it is not held'];
    } catch (Throwable $error) {
        return ['outcome' => 'unknown', 'error' => ($error->getPrevious() ?? $error)->getMessage()];
    }
}

// Call is one acquisition, and the process that does it.
class Call
{
    public $socket; // to the process
    public array $said = []; // what is answered, by operation
    private string $waits = 'acquire'; // or release: what is to be answered by the deadline, in nanoseconds

    public function __construct(private array $ask, private float $deadline, callable $lock)
    {
        [$this->socket, $child] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
        if (pcntl_fork() === 0) {
            fclose($this->socket); // or it would never see that the program has ended
            $this->run($lock, $child);
        }
    }

    // run is the process: it acquires, waits for the order to release, and releases.
    private function run(callable $make, $parent): void
    {
        $began = hrtime(true);
        $answer = tried(function () use ($make, &$lock) {
            $lock = $make($this->ask['resource']);
            while (!($got = $lock->acquire()) && hrtime(true) < $this->deadline) { // Symfony has no acquire with a
                usleep((100 + random_int(-10, 10)) * 1000); // timeout; with true it tries like this, without end
            }
            return $got;
        });
        if ($held = $answer['outcome'] === 'ok') {
            $answer['until_ms'] = max(1, (int) ((hrtime(true) - $began) / 1e6 + $lock->getRemainingLifetime() * 1000));
        }
        say($parent, ['op' => 'acquire'] + $answer);
        stream_set_timeout($parent, 86400); // without it a hold would end after a minute
        if (fgets($parent) !== false) { // the program has not ended
            $release = fn() => $held && $lock->isAcquired() && ($lock->release() ?? true);
            say($parent, ['op' => 'release'] + tried($release));
        }
        posix_kill(posix_getpid(), SIGKILL); // before a destructor of the lock releases it
    }

    public function answer(string $op, array $fields): void
    {
        if (!isset($this->said[$op])) {
            $this->said[$op] = true;
            say(STDOUT, ['op' => $op, 'id' => $this->ask['id']] + $fields);
        }
    }

    public function release(float $deadline): void
    {
        $this->answer('acquire', ['outcome' => 'unknown', 'error' => 'it was given up']);
        $this->deadline = $deadline;
        $this->waits = 'release';
        @fwrite($this->socket, "release\n");
    }

    // look passes on what the process says, and answers for one that says nothing in time.
    public function look(bool $readable): void
    {
        if ($readable && ($said = json_decode((string) fgets($this->socket), true))) {
            $this->answer($said['op'], $said);
        }
        if (hrtime(true) >= $this->deadline) {
            $this->answer($this->waits, ['outcome' => 'unknown', 'error' => 'the library did not return in time']);
        }
    }
}

// serve speaks the protocol. $lock(addresses by role, resource) makes a lock.
function serve(array $hello, callable $lock): void
{
    $addresses = $calls = [];
    for ([$rest, $none] = ['', null]; true; ) {
        $read = ['stdin' => STDIN] + array_map(fn($call) => $call->socket, $calls);
        stream_select($read, $none, $none, 0, 20000);
        $text = isset($read['stdin']) ? fread(STDIN, 65536) : null;
        if ($text === '' || $text === false) {
            return;
        }
        $lines = explode("\n", $rest . $text);
        $rest = array_pop($lines);
        foreach ($lines as $line) {
            $ask = json_decode($line, true);
            $deadline = hrtime(true) + (($ask['deadline_ms'] ?? 0) - 50) * 1e6; // 50 ms are for the answer itself
            if ($ask['op'] === 'acquire') {
                $calls[$ask['id']] = new Call($ask, $deadline, fn($resource) => $lock($addresses, $resource));
            } elseif ($ask['op'] === 'release') {
                $calls[$ask['id']]->release($deadline);
            } else {
                say(STDOUT, ['op' => 'hello', 'version' => 1] + $hello);
                foreach ($ask['servers'] as $server) {
                    $addresses[$server['role']][] = $server['addr'];
                }
            }
        }
        foreach ($calls as $id => $call) {
            $call->look(isset($read[$id]));
        }
        $calls = array_filter($calls, fn($call) => !isset($call->said['release']));
        while (pcntl_waitpid(-1, $status, WNOHANG) > 0);
    }
}
