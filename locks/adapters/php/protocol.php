<?php
// The lock program's protocol for Symfony's locks: locks/program/README.md. As PHP serves every
// request in a process of its own, every acquisition is a process of its own here.

const MARGIN = 0.05; // seconds of each deadline, for the answer itself

function now(): float
{
    return hrtime(true) / 1e9;
}

function say($to, array $line): void
{
    fwrite($to, json_encode($line) . "\n");
    fflush($to);
}

// Call is one acquisition, and the process that does it.
class Call
{
    public $socket; // to the process; null when it has ended
    public array $said = []; // operations that are answered
    public float $deadline;

    public function __construct(private array $ask, callable $lock)
    {
        $this->deadline = now() + $ask['deadline_ms'] / 1000 - MARGIN;
        [$this->socket, $child] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
        if (pcntl_fork() === 0) {
            $this->run($lock, $child);
            posix_kill(posix_getpid(), SIGKILL); // nor what else PHP does at the end
        }
    }

    // run is the process: it acquires, waits for the order to release, and releases.
    private function run(callable $make, $parent): void
    {
        $lock = null;
        $began = now();
        $answer = ['outcome' => 'failed', 'error' => 'another client holds it'];
        try {
            $lock = $make($this->ask['resource']);
            do { // Symfony has no acquire with a timeout; with true it tries like this, without end
                if ($lock->acquire()) {
                    $answer = ['outcome' => 'ok'];
                    if ($left = $lock->getRemainingLifetime()) {
                        $answer['until_ms'] = max(1, (int) ((now() - $began + $left) * 1000));
                    }
                    break;
                }
                usleep((100 + random_int(-10, 10)) * 1000);
            } while (now() < $this->deadline);
        } catch (Throwable $error) {
            $answer = ['outcome' => 'unknown', 'error' => ($error->getPrevious() ?? $error)->getMessage()];
        }
        say($parent, ['op' => 'acquire'] + $answer);
        stream_set_timeout($parent, 86400); // without it a hold would end after a minute
        if (fgets($parent) === false) { // the program has ended: no destructor may release anything
            posix_kill(posix_getpid(), SIGKILL);
        }
        $end = ['outcome' => 'failed', 'error' => 'it is not held'];
        try {
            if ($answer['outcome'] === 'ok' && $lock->isAcquired()) {
                $lock->release();
                $end = ['outcome' => 'ok'];
            }
        } catch (Throwable $error) {
            $end = ['outcome' => 'unknown', 'error' => $error->getMessage()];
        }
        say($parent, ['op' => 'release'] + $end);
    }

    public function answer(string $op, array $fields): void
    {
        if (!in_array($op, $this->said) && ($op === 'acquire' || in_array('acquire', $this->said))) {
            $this->said[] = $op;
            say(STDOUT, ['op' => $op, 'id' => $this->ask['id']] + $fields);
        }
    }

    public function release(array $ask): void
    {
        $this->answer('acquire', ['outcome' => 'unknown', 'error' => 'it was given up']);
        $this->deadline = now() + $ask['deadline_ms'] / 1000 - MARGIN;
        $this->asked = true;
        @fwrite($this->socket, "release\n");
    }

    // look passes on what the process says, and answers for one that says nothing in time.
    public function look(bool $readable): void
    {
        if ($readable && ($line = fgets($this->socket)) !== false) {
            $said = json_decode($line, true);
            $this->answer($said['op'], $said);
        }
        $op = $this->asked ? 'release' : 'acquire';
        if (now() >= $this->deadline) {
            $this->answer($op, ['outcome' => 'unknown', 'error' => 'the library did not return in time']);
        }
    }
    private bool $asked = false;
}

// serve speaks the protocol. $lock(addresses by role, resource) makes a lock.
function serve(array $hello, callable $lock): void
{
    $addresses = $calls = [];
    for ($rest = ''; true; ) {
        $read = ['stdin' => STDIN] + array_map(fn($call) => $call->socket, $calls);
        $none = null;
        stream_select($read, $none, $none, 0, 20000);
        if (isset($read['stdin'])) {
            $text = fread(STDIN, 65536);
            if ($text === '' || $text === false) {
                return;
            }
            $lines = explode("\n", $rest . $text);
            $rest = array_pop($lines);
            foreach ($lines as $line) {
                $ask = json_decode($line, true);
                switch ($ask['op']) {
                    case 'hello':
                        say(STDOUT, ['op' => 'hello', 'version' => 1] + $hello);
                        foreach ($ask['servers'] as $server) {
                            $addresses[$server['role']][] = $server['addr'];
                        }
                        break;
                    case 'acquire':
                        $calls[$ask['id']] = new Call($ask, fn($resource) => $lock($addresses, $resource));
                        break;
                    case 'release':
                        $calls[$ask['id']]->release($ask);
                }
            }
        }
        foreach ($calls as $id => $call) {
            $call->look(isset($read[$id]));
            if (in_array('release', $call->said)) {
                unset($calls[$id]);
            }
        }
        while (pcntl_waitpid(-1, $status, WNOHANG) > 0);
    }
}
