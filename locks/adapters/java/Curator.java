import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreMutex;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.ExponentialBackoffRetry;

/** Curator's recipes: https://curator.apache.org/docs/recipes-shared-reentrant-lock */
final class Curator {
    public static void main(String[] args) throws Exception {
        List<String> options = List.of(args);
        boolean listens = options.contains("--listener"); // its documentation: "strongly recommended"
        Protocol.serve("{\"servers\":[{\"role\":\"zookeeper\"}]}", (name, addresses) -> {
            // Its getting started has this retry policy.
            CuratorFramework framework = CuratorFrameworkFactory.newClient(String.join(",", addresses.get("zookeeper")),
                    3000, 15000, new ExponentialBackoffRetry(1000, 3));
            Set<Consumer<String>> holders = ConcurrentHashMap.newKeySet();
            if (listens) {
                framework.getConnectionStateListenable().addListener((client, state) -> {
                    if (state == ConnectionState.SUSPENDED || state == ConnectionState.LOST) {
                        holders.forEach(lost -> lost.accept("the connection is " + state));
                    }
                });
            }
            framework.start();
            return (resource, millis, lost) -> {
                String path = "/locks/" + resource.replace("%", "%25").replace("/", "%2F");
                Protocol.Hold hold = options.contains("latch") ? latch(framework, path, millis)
                        : mutex(options.contains("semaphore") ? new InterProcessSemaphoreMutex(framework, path)
                                : new InterProcessMutex(framework, path), millis);
                if (hold == null) {
                    return null;
                }
                holders.add(lost);
                return () -> {
                    holders.remove(lost);
                    return hold.release();
                };
            };
        });
    }

    private static Protocol.Hold mutex(InterProcessLock lock, long millis) throws Exception {
        if (!lock.acquire(millis, TimeUnit.MILLISECONDS)) {
            return null;
        }
        return () -> {
            lock.release();
            return true;
        };
    }

    private static Protocol.Hold latch(CuratorFramework framework, String path, long millis) throws Exception {
        LeaderLatch latch = new LeaderLatch(framework, path);
        latch.start();
        if (!latch.await(millis, TimeUnit.MILLISECONDS)) {
            latch.close();
            return null;
        }
        return () -> {
            boolean leads = latch.hasLeadership();
            latch.close();
            return leads;
        };
    }
}
