// A peer of the benchmarks: Go's own recipes for etcd (go.etcd.io/etcd/clientv3/concurrency), in a process of its own. It obeys the same words as
// bench/networked/obedient.mjs, which does them with Conclave: one command a line on stdin, one answer a line on stdout, each beginning with "ok".
//
//	hold COUNT TTL      campaigns for COUNT names at once, all of one session; answers how long that took, in milliseconds
//	held                how many of them it still believes to hold
//	give                gives them back
//	wait NAME COUNT TTL COUNT candidates, each with a session of its own, campaign for NAME and are not told the outcome
//	lock COUNT MS       locks and unlocks COUNT names at once, each again and again, for MS milliseconds; answers how often and for how long
//	cpu                 the processor time that this process has used, in microseconds
//
// With the arguments URL NAME TTL it is one candidate instead: it says "elected", and resigns on SIGTERM.
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"go.etcd.io/etcd/clientv3"
	"go.etcd.io/etcd/clientv3/concurrency"
	"go.etcd.io/etcd/etcdserver/api/v3rpc/rpctypes"
)

var ctx = context.Background()

func main() {
	client, err := clientv3.New(clientv3.Config{Endpoints: strings.Split(os.Args[1], ","), DialTimeout: 5 * time.Second})
	must(err)
	if len(os.Args) > 2 {
		beCandidate(client, os.Args[2], os.Args[3])
		return
	}
	peer := &obedient{client: client}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		fmt.Println("ok", peer.obey(words[0], words[1:]))
	}
}

type obedient struct {
	client    *clientv3.Client
	session   *concurrency.Session
	elections []*concurrency.Election
	// Locks are taken with one session, as a program that takes many would do it.
	locking *concurrency.Session
}

func (peer *obedient) obey(command string, args []string) string {
	switch command {
	case "hold":
		return peer.hold(number(args[0]), number(args[1]))
	case "held":
		return peer.held()
	case "give":
		return peer.give()
	case "wait":
		return peer.wait(args[0], number(args[1]), number(args[2]))
	case "lock":
		return peer.lock(number(args[0]), number(args[1]))
	case "cpu":
		return fmt.Sprint(cpuMicroseconds())
	}
	panic("unknown command: " + command)
}

func (peer *obedient) hold(count, ttl int) string {
	begun := time.Now()
	peer.session = open(peer.client, ttl)
	peer.elections = make([]*concurrency.Election, count)
	atOnce(count, func(index int) {
		election := concurrency.NewElection(peer.session, fmt.Sprintf("held-go-%d", index))
		campaign(election)
		peer.elections[index] = election
	})
	return milliseconds(time.Since(begun))
}

// etcd refuses what comes while it is thousands of writes behind, and Go's recipe hands that on: a program that wants so many at once has to try again.
func campaign(election *concurrency.Election) {
	err := election.Campaign(ctx, "x")
	for rpctypes.ErrorDesc(err) == rpctypes.ErrorDesc(rpctypes.ErrGRPCRequestTooManyRequests) {
		time.Sleep(10 * time.Millisecond)
		err = election.Campaign(ctx, "x")
	}
	must(err)
}

func (peer *obedient) held() string {
	select {
	case <-peer.session.Done():
		return "0"
	default:
		return fmt.Sprint(len(peer.elections))
	}
}

// Revoking the lease deletes every key that it carries.
func (peer *obedient) give() string {
	must(peer.session.Close())
	return ""
}

func (peer *obedient) wait(name string, count, ttl int) string {
	for index := 0; index < count; index++ {
		election := concurrency.NewElection(open(peer.client, ttl), name)
		go func() { _ = election.Campaign(ctx, "x") }()
	}
	return ""
}

func (peer *obedient) lock(count, ms int) string {
	if peer.locking == nil {
		peer.locking = open(peer.client, 15)
	}
	var times int64
	begun := time.Now()
	until := begun.Add(time.Duration(ms) * time.Millisecond)
	atOnce(count, func(index int) {
		for time.Now().Before(until) {
			mutex := concurrency.NewMutex(peer.locking, fmt.Sprintf("lock-go-%d", index))
			must(mutex.Lock(ctx))
			must(mutex.Unlock(ctx))
			atomic.AddInt64(&times, 1)
		}
	})
	return fmt.Sprintf("%d %s", times, milliseconds(time.Since(begun)))
}

func beCandidate(client *clientv3.Client, name, ttl string) {
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGTERM)
	session := open(client, number(ttl))
	election := concurrency.NewElection(session, name)
	go func() {
		must(election.Campaign(ctx, "x"))
		fmt.Println("elected")
	}()
	<-told
	must(election.Resign(ctx))
	must(session.Close())
}

func open(client *clientv3.Client, ttl int) *concurrency.Session {
	session, err := concurrency.NewSession(client, concurrency.WithTTL(ttl))
	must(err)
	return session
}

func atOnce(count int, work func(index int)) {
	var all sync.WaitGroup
	for index := 0; index < count; index++ {
		all.Add(1)
		go func(index int) {
			defer all.Done()
			work(index)
		}(index)
	}
	all.Wait()
}

func cpuMicroseconds() int64 {
	var used syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return (used.Utime.Nano() + used.Stime.Nano()) / 1000
}

func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.3f", float64(d.Microseconds())/1000)
}

func number(text string) int {
	var value int
	_, err := fmt.Sscan(text, &value)
	must(err)
	return value
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
