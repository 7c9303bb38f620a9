<?php
// Symfony's Lock in RedisStore, or in a CombinedStore of several (Redlock), or in a table.
// https://symfony.com/doc/current/components/lock.html
require '/usr/share/php/Symfony/Component/Lock/autoload.php';
require __DIR__ . '/protocol.php';

use Symfony\Component\Lock\LockFactory;
use Symfony\Component\Lock\Store\CombinedStore;
use Symfony\Component\Lock\Store\PdoStore;
use Symfony\Component\Lock\Store\RedisStore;
use Symfony\Component\Lock\Strategy\ConsensusStrategy;

[$store, $ttl] = [$argv[1], (float) ($argv[2] ?? 300)]; // redis, combined or pdo; seconds

function redis(string $addr): RedisStore
{
    [$host, $port] = explode(':', $addr);
    $client = new Redis();
    $client->connect($host, (int) $port);
    return new RedisStore($client);
}

$needs = [
    'redis' => ['role' => 'redis', 'nodes' => 1],
    'combined' => ['role' => 'redis'],
    'pdo' => ['role' => 'postgres', 'nodes' => 1],
];
serve(['servers' => [$needs[$store]], 'lease_ms' => (int) ($ttl * 1000)], function ($addresses, $resource) use ($store, $ttl) {
    $made = match ($store) {
        'redis' => redis($addresses['redis'][0]),
        'combined' => new CombinedStore(array_map('redis', $addresses['redis']), new ConsensusStrategy()),
        'pdo' => new PdoStore('pgsql:host=' . str_replace(':', ';port=', $addresses['postgres'][0]) . ';dbname=postgres', ['db_username' => 'locklab']),
    };
    return (new LockFactory($made))->createLock($resource, $ttl);
});
