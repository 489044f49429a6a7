// A candidate of Curator's LeaderLatch or LeaderSelector: leads until its standard input ends. Arguments: latch or selector, hosts, path, id.
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderSelector;
import org.apache.curator.framework.recipes.leader.LeaderSelectorListenerAdapter;
import org.apache.curator.retry.RetryOneTime;

public class CuratorCandidate {
  public static void main(String[] args) throws Exception {
    CuratorFramework client = CuratorFrameworkFactory.newClient(args[1], 2000, 2000, new RetryOneTime(100));
    client.start();
    if (args[0].equals("latch")) latch(client, args[2], args[3]);
    else selector(client, args[2], args[3]);
    client.close();
  }

  static void latch(CuratorFramework client, String path, String id) throws Exception {
    try (LeaderLatch latch = new LeaderLatch(client, path, id)) {
      latch.start();
      say("standing");
      latch.await();
      say("elected");
      untilTold();
    }
  }

  static void selector(CuratorFramework client, String path, String id) throws Exception {
    Object over = new Object();
    LeaderSelector selector =
        new LeaderSelector(
            client,
            path,
            new LeaderSelectorListenerAdapter() {
              @Override
              public void takeLeadership(CuratorFramework ignored) throws Exception {
                say("elected");
                untilTold();
                synchronized (over) {
                  over.notifyAll();
                }
              }
            });
    selector.setId(id);
    synchronized (over) {
      selector.start();
      say("standing");
      over.wait();
    }
    selector.close();
  }

  static void say(String word) {
    System.out.println(word);
    System.out.flush();
  }

  static void untilTold() throws Exception {
    while (System.in.read() >= 0) {}
  }
}
