<?php
// Symfony's RedisStore: acquire() first sets a lease of 300 s, then that of the lock. A client that dies between the two
// blocks the others for 300 s.
require '/usr/share/php/Symfony/Component/Lock/autoload.php';

use Symfony\Component\Lock\{Key, LockFactory};
use Symfony\Component\Lock\Store\RedisStore;

function redis(): Redis
{
    $client = new Redis();
    $client->connect(...explode(':', $GLOBALS['argv'][1]));
    return $client;
}

if (pcntl_fork() === 0) {
    $dies = new class(redis()) extends RedisStore {
        public function putOffExpiration(Key $key, float $ttl)
        {
            posix_kill(getmypid(), SIGKILL);
        }
    };
    (new LockFactory($dies))->createLock('track', 3)->acquire();
}
pcntl_wait($status);
sleep(4);
if ((new LockFactory(new RedisStore(redis())))->createLock('track', 3)->acquire()) {
    exit(1);
}
printf("nobody holds the lock of 3 s, and nobody gets it for another %.0f s\n", redis()->pttl('track') / 1000);
