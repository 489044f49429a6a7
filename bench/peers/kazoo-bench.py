# kazoo, for bench/zookeeper.mjs. Two uses:
#   kazoo-bench.py HOSTS                       does what it is told, as bench/networked/obedient.mjs does: "lock NAMES MS" takes and gives back a Lock on so many names at once
#   kazoo-bench.py HOSTS PATH TTL_MS           a candidate of its Election: says "elected", and leaves cleanly on SIGTERM
import signal
import sys
import threading
import time

from kazoo.client import KazooClient

client = KazooClient(hosts=sys.argv[1], timeout=float(sys.argv[3]) / 1000 if len(sys.argv) > 3 else 15.0)
client.start()


def lock(names, ms):
    counts = [0] * names
    begun = time.monotonic()

    def one(index):
        while (time.monotonic() - begun) * 1000 < ms:
            with client.Lock(f"/kazoo-{index}", "bench"):
                counts[index] += 1

    threads = [threading.Thread(target=one, args=(index,)) for index in range(names)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts), (time.monotonic() - begun) * 1000


def lead():
    print("elected", flush=True)
    over.wait()


if len(sys.argv) > 2:
    over = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: over.set())
    standing = threading.Thread(target=lambda: client.Election(sys.argv[2], "bench").run(lead))
    standing.start()
    while standing.is_alive():
        standing.join(0.05)
    client.stop()
else:
    for line in sys.stdin:
        _, names, ms = line.split()
        print("ok %d %f" % lock(int(names), float(ms)), flush=True)
