<?php
// Symfony's CombinedStore: a majority of Redis servers restarts, and another client gets what is held.
require '/usr/share/php/Symfony/Component/Lock/autoload.php';

use Symfony\Component\Lock\LockFactory;
use Symfony\Component\Lock\Store\{CombinedStore, RedisStore};
use Symfony\Component\Lock\Strategy\ConsensusStrategy;

foreach (array_slice($argv, 1) as $i => $addr) {
    $servers[$i] = new Redis();
    $servers[$i]->connect(...explode(':', $addr));
    $stores[] = new RedisStore($servers[$i]);
}
$locks = new LockFactory(new CombinedStore($stores, new ConsensusStrategy()));
[$first, $second] = [$locks->createLock('track', 30), $locks->createLock('track', 30)];
$first->acquire() || exit(1);
foreach (array_slice($servers, 0, intdiv(count($servers), 2) + 1) as $server) {
    $server->flushAll(); // what a restart without a file leaves
}
$second->acquire() && !$first->isExpired() || exit(1);
print("two hold the lock after a majority of the servers restarted\n");
