import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.RetryOneTime;
import org.apache.zookeeper.ZooKeeper;

/** Curator without a listener: isAcquiredInThisProcess stays true when the session, and the lock with it, is gone. */
class Track {
    public static void main(String[] args) throws Exception {
        CuratorFramework first = CuratorFrameworkFactory.newClient(args[0], new RetryOneTime(1000));
        CuratorFramework second = CuratorFrameworkFactory.newClient(args[0], new RetryOneTime(1000));
        first.start();
        second.start();
        InterProcessMutex held = new InterProcessMutex(first, "/track");
        held.acquire();
        ZooKeeper session = first.getZookeeperClient().getZooKeeper();
        ZooKeeper thief = new ZooKeeper(args[0], 60000, event -> { }, session.getSessionId(), session.getSessionPasswd());
        while (!thief.getState().isConnected()) {
            Thread.sleep(10);
        }
        thief.close(); // ends the session, as the server does when it hears nothing
        new InterProcessMutex(second, "/track").acquire();
        System.out.println("two hold the lock after a session has ended: " + held.isAcquiredInThisProcess());
        System.exit(held.isAcquiredInThisProcess() ? 0 : 1);
    }
}
