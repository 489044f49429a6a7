// Writes a snapshot of a ZooKeeper with empty nodes whose counter of children is that number, for counter.test.ts. Args: the server's folder, the number, paths.
import java.io.File;
import java.util.Arrays;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.server.DataTree;
import org.apache.zookeeper.server.persistence.FileTxnSnapLog;

public class SpentCounter {
  public static void main(String[] args) throws Exception {
    File folder = new File(args[0]);
    DataTree tree = new DataTree();
    long zxid = 0;
    for (String path : Arrays.copyOfRange(args, 2, args.length)) {
      tree.createNode(path, new byte[0], ZooDefs.Ids.OPEN_ACL_UNSAFE, 0, -1, ++zxid, 0);
      tree.getNode(path).stat.setCversion(Integer.parseInt(args[1]));
    }
    tree.lastProcessedZxid = zxid;
    FileTxnSnapLog log = new FileTxnSnapLog(folder, folder);
    log.save(tree, new ConcurrentHashMap<>(), true);
    log.close();
  }
}
