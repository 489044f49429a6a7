# A candidate of kazoo's Election: leads until its standard input ends. Arguments: hosts, path, identifier; and "curator" for one in a line of Curator's LeaderSelector:
# kazoo's lock takes others' entries for contenders (extra_lock_patterns), and its own entry is named as theirs, which Curator sorts by.
import sys
import uuid

from kazoo.client import KazooClient

hosts, path, identifier = sys.argv[1:4]
in_line_of_curator = sys.argv[4:] == ["curator"]
client = KazooClient(hosts=hosts, timeout=2.0)
client.start()


def lead():
    print("elected", flush=True)
    sys.stdin.read()


print("standing", flush=True)
election = client.Election(path, identifier)
if in_line_of_curator:
    lock = client.Lock(path, identifier, extra_lock_patterns=["-lock-"])
    lock.prefix = "_c_%s-lock-" % uuid.uuid4()
    lock.create_path = path + "/" + lock.prefix
    election.lock = lock
election.run(lead)
client.stop()
