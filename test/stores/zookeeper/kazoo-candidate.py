# A candidate of kazoo's Election: leads until its standard input ends. Arguments: hosts, path, identifier.
import sys

from kazoo.client import KazooClient

hosts, path, identifier = sys.argv[1:4]
client = KazooClient(hosts=hosts, timeout=2.0)
client.start()


def lead():
    print("elected", flush=True)
    sys.stdin.read()


print("standing", flush=True)
client.Election(path, identifier).run(lead)
client.stop()
