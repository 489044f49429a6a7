// Curator, for bench/zookeeper.mjs. Two uses:
//   Curator HOSTS                 does what it is told: "lock NAMES MS" takes and gives back an InterProcessMutex on so many names at once
//   Curator HOSTS PATH TTL_MS     a candidate of its LeaderLatch: says "elected", and leaves cleanly on SIGTERM
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.RetryOneTime;

public class Curator {
  public static void main(String[] args) throws Exception {
    int ttlMs = args.length > 2 ? Integer.parseInt(args[2]) : 15000;
    CuratorFramework client = CuratorFrameworkFactory.newClient(args[0], ttlMs, 5000, new RetryOneTime(100));
    client.start();
    if (args.length > 1) lead(client, args[1]);
    else obey(client);
  }

  static void lead(CuratorFramework client, String path) throws Exception {
    LeaderLatch latch = new LeaderLatch(client, path, "bench");
    latch.start();
    Runtime.getRuntime()
        .addShutdownHook(
            new Thread(
                () -> {
                  try {
                    latch.close();
                    client.close();
                  } catch (Exception e) {
                    System.err.println(e);
                  }
                }));
    latch.await();
    System.out.println("elected");
    System.out.flush();
    new CountDownLatch(1).await();
  }

  static void obey(CuratorFramework client) throws Exception {
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      String[] words = line.split(" ");
      System.out.println("ok " + lock(client, Integer.parseInt(words[1]), Double.parseDouble(words[2])));
      System.out.flush();
    }
    System.exit(0);
  }

  static String lock(CuratorFramework client, int names, double ms) throws Exception {
    AtomicLong count = new AtomicLong();
    long begun = System.nanoTime();
    Thread[] threads = new Thread[names];
    for (int index = 0; index < names; index++) {
      InterProcessMutex mutex = new InterProcessMutex(client, "/curator-" + index);
      threads[index] =
          new Thread(
              () -> {
                try {
                  while ((System.nanoTime() - begun) / 1e6 < ms) {
                    mutex.acquire();
                    mutex.release();
                    count.incrementAndGet();
                  }
                } catch (Exception e) {
                  System.err.println(e);
                }
              });
      threads[index].start();
    }
    for (Thread thread : threads) thread.join();
    return count.get() + " " + (System.nanoTime() - begun) / 1e6;
  }
}
