<?php
// Symfony's PdoStore on PostgreSQL counts whole seconds: another client gets the lock up to a second early.
require '/usr/share/php/Symfony/Component/Lock/autoload.php';

use Symfony\Component\Lock\LockFactory;
use Symfony\Component\Lock\Store\PdoStore;

$store = fn() => new PdoStore('pgsql:host=' . str_replace(':', ';port=', $argv[1]) . ';dbname=postgres', ['db_username' => 'locklab']);
$first = (new LockFactory($store()))->createLock('track', 3);
$second = (new LockFactory($store()))->createLock('track', 3);
$first->acquire() && $first->release(); // makes the table
usleep((int) ((1.4 - fmod(microtime(true), 1)) * 1e6)); // to 0.4 s after a second begins
$first->acquire() || exit(1);
while (!$second->acquire()) {
    usleep(10000);
}
$first->isExpired() && exit(1);
printf("two hold the lock: %.2f s of the first one's are left\n", $first->getRemainingLifetime());
exit(0);
